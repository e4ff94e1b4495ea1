#if !hasFeature(Embedded)

  // Windows: how an app looks at lists of which only a part is held. What they lack is fetched in child
  // tasks of `run()`, outside of the machine's one request.

  extension UpdateMachine {
    /// What names a list.
    public typealias Narrow = Lists.Narrow

    /// Begins to look at a part of a list: the newest so many, so many around an ID, where the user
    /// should go on reading. What is held is seen at once; what is not is fetched while `run()` goes on,
    /// the log is followed and the app is in front, tried again after a failure, and given up when the
    /// window moves on or goes.
    ///
    /// May be called at any time, before there is a model, too: then it waits for one. The window is
    /// closed by ``closeWindow(_:)``, and when its views are dropped or their task is cancelled.
    public func openWindow(
      on narrow: Narrow, showing window: ListWindow<Lists.ID>
    ) -> WindowViews<Lists> {
      let now = clock.now
      let opened = client.openWindow(on: narrow, showing: window, at: now)
      var subscriber = WindowSubscriber<Lists>(window: opened.id)
      let stream = subscriber.subscribers.add { [departing] in departing.raise() }
      windows.append(subscriber)
      attendDepartures()
      perform(nil, opened.effects, at: now)
      return WindowViews(id: opened.id, stream: stream)
    }

    /// Looks at another part of the same list: the user scrolls. Nothing, if the window is closed.
    public func moveWindow(_ id: WindowID, to window: ListWindow<Lists.ID>) {
      feed(.window(.moved(id, window)))
    }

    /// Ends a window's views. What was fetched stays held; what is being fetched for it alone is given
    /// up. Nothing, if it is closed.
    public func closeWindow(_ id: WindowID) {
      for window in windows where window.window == id { window.subscribers.finish() }
      windows.removeAll { $0.window == id }
      feed(.window(.closed(id)))
    }

    /// What is held changes beside the log and beside pages.
    package func changeLists(_ change: Client.ListChange) { feed(.lists(change)) }

    /// From now on somebody hears of windows that nobody looks through any more.
    func attendDepartures() {
      guard departures == nil, operations.isOpen, !windows.isEmpty else { return }
      departures = operations.add(.departures(departing.listen()))
    }

    func closeLeftWindows() {
      for window in windows where !window.subscribers.hasReader { closeWindow(window.window) }
    }
  }

  /// What is seen through one window, as it changes: the present view first, then the newest whenever
  /// the reader is ready for one. Views in between are skipped, and nothing comes while nothing of it
  /// changes. Ends when the window is closed, or the machine goes away. One reader; the window is
  /// closed when the sequence and its iterator are dropped, or the reader's task is cancelled.
  public struct WindowViews<Lists: PartialLists>: AsyncSequence, Sendable {
    public typealias Element = WindowView<Lists>
    public typealias Failure = Never

    /// The window that they are seen through: to move it, or to close it.
    public let id: WindowID
    let stream: AsyncStream<Element>

    /// The way to read them, for one reader: iterators of one sequence share one place.
    public func makeAsyncIterator() -> AsyncStream<Element>.Iterator { stream.makeAsyncIterator() }
  }

#endif
