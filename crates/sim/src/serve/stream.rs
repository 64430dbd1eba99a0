//! The way of an answer from the engine to its connection.

use super::{api::render::Render, core::Shared};
use crate::{Output, StepResult};
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
    /// The replica is gone.
    Lost,
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

impl Answer {
    /// Nothing more will come: its connection is to be closed.
    pub(super) fn lose(&mut self) {
        self.state = State::Lost;
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// Gives the request up when the connection is gone before the answer's end.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) shared: Shared,
    pub(super) tag: u64,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.shared.forget(self.tag);
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
    pub(super) async fn whole(self) -> Result<Bytes, Broken> {
        std::future::poll_fn(|context| {
            let mut answer = self.answer.borrow_mut();
            match answer.state {
                State::Open => {
                    answer.waker = Some(context.waker().clone());
                    Poll::Pending
                }
                State::Complete => Poll::Ready(Ok(answer.unsent.split().freeze())),
                State::Overflow => Poll::Ready(Err(Broken::SlowClient)),
                State::Lost => Poll::Ready(Err(Broken::Failed)),
            }
        })
        .await
    }
}

/// Why a connection is closed before the answer's end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// The client does not take its answer.
    #[error("the client takes its answer too slowly")]
    SlowClient,
    /// The engine that answered failed, or was started again.
    #[error("the engine failed")]
    Failed,
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let mut answer = self.answer.borrow_mut();
        match answer.state {
            State::Overflow => return Poll::Ready(Some(Err(Broken::SlowClient))),
            State::Lost => return Poll::Ready(Some(Err(Broken::Failed))),
            State::Open | State::Complete => {}
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
