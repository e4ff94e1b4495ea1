#if !hasFeature(Embedded)

  // Windows: how an app shows lists that are held only in part. What they lack is fetched in child
  // tasks of `run()`, beside the machine's one request.

  extension UpdateMachine {
    /// The name of a list.
    package typealias Narrow = Lists.Narrow

    /// Opens a window on a part of a list: the newest rows, the rows around an ID, or those where
    /// the user should go on reading. What is held shows at once. The rest is fetched while `run()`
    /// goes on, the log is followed and the app is in front. A failed fetch is repeated. A fetch is
    /// given up when the window moves on or closes.
    ///
    /// May be called at any time. Without a model the window waits for one. It is closed by
    /// ``closeWindow(_:)``, and when its views are dropped or their task is cancelled.
    public func openWindow(
      on narrow: Origin.Model.Lists.Narrow, showing window: ListWindow<Origin.Model.Lists.ID>
    ) -> WindowViews<Origin.Model.Lists> {
      let now = clock.now
      let opened = client.openWindow(on: narrow, showing: window, at: now)
      var subscriber = WindowSubscriber<Lists>(window: opened.id)
      let stream = subscriber.subscribers.add { [departing] in departing.raise() }
      windows.append(subscriber)
      attendDepartures()
      perform(nil, opened.effects, at: now)
      return WindowViews(id: opened.id, stream: stream)
    }

    /// Shows another part of the same list: the user scrolls. Does nothing if the window is closed.
    /// Of a list that is only a snapshot (a search), any move reads it again, even one to where the
    /// window is: the user refreshes.
    public func moveWindow(_ id: WindowID, to window: ListWindow<Origin.Model.Lists.ID>) {
      feed(.window(.moved(id, window)))
    }

    /// Ends a window's views. What was fetched stays held. Fetches for this window alone are given
    /// up. Does nothing if it is closed.
    public func closeWindow(_ id: WindowID) {
      for window in windows where window.window == id { window.subscribers.finish() }
      windows.removeAll { $0.window == id }
      feed(.window(.closed(id)))
    }

    /// Changes the lists, independently of the log and of pages.
    package func changeLists(_ change: Client.ListChange) { feed(.lists(change)) }

    /// Starts to listen for windows that have lost their reader.
    func attendDepartures() {
      guard departures == nil, operations.isOpen, !windows.isEmpty else { return }
      departures = operations.add(.departures(departing.listen()))
    }

    func closeLeftWindows() {
      for window in windows where !window.subscribers.hasReader { closeWindow(window.window) }
    }
  }

  /// The views through one window, as they change: first the present one, then the newest whenever
  /// the reader is ready. Views in between are skipped, and none comes without a change. Ends when
  /// the window is closed, or the machine is released. For one reader. The window is closed when
  /// the sequence and its iterator are dropped, or the reader's task is cancelled.
  public struct WindowViews<Lists: PartialLists>: AsyncSequence, Sendable {
    /// The window of these views, to move it or to close it.
    public let id: WindowID
    let stream: AsyncStream<WindowView<Lists>>

    /// Returns an iterator, for one reader: iterators of one sequence share one position.
    public func makeAsyncIterator() -> AsyncStream<WindowView<Lists>>.Iterator {
      stream.makeAsyncIterator()
    }
  }

#endif
