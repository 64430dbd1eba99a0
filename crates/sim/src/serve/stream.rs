//! The way of an answer from the engine to its connection.

use super::{api::render::Render, core::Shared};
use crate::{Output, RequestId, StepResult};
use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame};
use std::{
    cell::RefCell,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};

/// An answer under way: what the engine has written and the connection has not yet taken.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) unsent: BytesMut,
    pub(super) state: State,
    render: Render,
    waker: Option<Waker>,
}

/// Where an answer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// More is to come.
    Open,
    /// All is written.
    Complete,
    /// The client took too little of it for too long.
    Overflow,
}

impl Answer {
    pub(super) fn new(render: Render) -> Self {
        Self { unsent: BytesMut::new(), state: State::Open, render, waker: None }
    }

    /// Writes a token. False: too much is waiting to be sent.
    pub(super) fn push(&mut self, output: &Output, step: &StepResult<'_>, limit: usize) -> bool {
        self.render.token(output, step, &mut self.unsent);
        if output.finish.is_some() {
            self.state = State::Complete;
        } else if self.unsent.len() > limit {
            self.state = State::Overflow;
        }
        // An answer that is sent whole is taken at its end only.
        if (self.render.streams() || self.state != State::Open)
            && let Some(waker) = self.waker.take()
        {
            waker.wake();
        }
        self.state != State::Overflow
    }
}

/// Gives the request up when the connection is gone before the answer's end.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) shared: Shared,
    pub(super) id: RequestId,
    pub(super) tag: u64,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.shared.forget(self.id, self.tag);
    }
}

/// The body of a streamed answer.
#[derive(Debug)]
pub(super) struct Stream {
    answer: Rc<RefCell<Answer>>,
    _guard: Guard,
}

impl Stream {
    pub(super) fn new(answer: Rc<RefCell<Answer>>, guard: Guard) -> Self {
        Self { answer, _guard: guard }
    }

    /// Waits for the whole answer.
    pub(super) async fn whole(self) -> Result<Bytes, SlowClient> {
        std::future::poll_fn(|context| {
            let mut answer = self.answer.borrow_mut();
            match answer.state {
                State::Open => {
                    answer.waker = Some(context.waker().clone());
                    Poll::Pending
                }
                State::Complete => Poll::Ready(Ok(answer.unsent.split().freeze())),
                State::Overflow => Poll::Ready(Err(SlowClient)),
            }
        })
        .await
    }
}

/// Closes the connection of a client that does not take its answer.
#[derive(Debug, thiserror::Error)]
#[error("the client takes its answer too slowly")]
pub(super) struct SlowClient;

impl Body for Stream {
    type Data = Bytes;
    type Error = SlowClient;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, SlowClient>>> {
        let mut answer = self.answer.borrow_mut();
        if answer.state == State::Overflow {
            return Poll::Ready(Some(Err(SlowClient)));
        }
        if !answer.unsent.is_empty() {
            let ready = answer.unsent.split().freeze();
            return Poll::Ready(Some(Ok(Frame::data(ready))));
        }
        if answer.state == State::Complete {
            return Poll::Ready(None);
        }
        answer.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
