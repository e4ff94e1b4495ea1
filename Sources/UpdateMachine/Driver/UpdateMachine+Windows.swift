#if !hasFeature(Embedded)

  // Windows: how an app looks at lists of which only a part is held. What they lack is fetched in child
  // tasks of `run()`, outside of the machine's one request.

  extension UpdateMachine where Origin: PageSource {
    /// What names a list.
    public typealias Narrow = Origin.Model.Narrow

    /// Begins to look at a part of a list: the newest so many, so many around an ID, where the user
    /// should go on reading. What is held is seen at once; what is not is fetched while `run()` goes on,
    /// the log is followed and the app is in front, tried again after a failure, and given up when the
    /// window moves on or goes.
    ///
    /// May be called at any time, before there is a model, too: then it waits for one. The window is
    /// closed by ``closeWindow(_:)``, and when its views are dropped or their task is cancelled.
    public func openWindow(
      on narrow: Narrow, showing window: ListWindow
    ) -> WindowViews<Narrow> {
      windows.open(narrow, window, on: self)
    }

    /// Looks at another part of the same list: the user scrolls. Nothing, if the window is closed.
    public func moveWindow(_ id: WindowID, to window: ListWindow) {
      windows.move(id, to: window, on: self)
    }

    /// Ends a window's views. What was fetched stays held; what is being fetched for it alone is given
    /// up. Nothing, if it is closed.
    public func closeWindow(_ id: WindowID) { windows.close(id, on: self) }

    /// Made when they are first asked for.
    private var windows: Windows<Origin> {
      if let windows = paging as? Windows<Origin> { return windows }
      let windows = Windows<Origin>(life: replica.machine.life, settings: source.pageSettings)
      paging = windows
      return windows
    }

    // MARK: Fetches

    /// One question for a page. One that was given up has nothing to say of its end, as requests have
    /// not.
    nonisolated func fetch(
      _ request: PageRequest<Narrow>, _ id: FetchID, _ job: Errands<Place, Model>.Job
    ) async {
      guard !job.givenUp.wasSaid else { return }  // No page is asked for after `stop()`.
      do throws(SyncFailure) {
        let page = try await source.page(request)
        guard await wake({ $0.windows.asleep(under: page, for: id, on: $0) }) else { return }
        await take(page, for: id, job.id)
      } catch {
        await fail(id, error, job.id, isCancelled: Task.isCancelled)
      }
    }

    private func take(
      _ page: MessagePage<Narrow.Content>, for id: FetchID, _ errand: ErrandID
    ) {
      errands.complete(errand)
      windows.take(page, for: id, on: self)
    }

    private func fail(
      _ id: FetchID, _ failure: SyncFailure, _ errand: ErrandID, isCancelled: Bool
    ) {
      let isAwaited = !errands.isGivenUp(errand) && !isCancelled
      errands.complete(errand)
      if isAwaited { windows.fail(id, failure, on: self) }
    }
  }

  /// What is seen through one window, as it changes: the present view first, then the newest whenever
  /// the reader is ready for one. Views in between are skipped, and nothing comes while nothing of it
  /// changes. Ends when the window is closed, or the machine goes away. One reader; the window is
  /// closed when the sequence and its iterator are dropped, or the reader's task is cancelled.
  public struct WindowViews<Narrow: MessageNarrow>: AsyncSequence, Sendable {
    public typealias Element = WindowView<Narrow>
    public typealias Failure = Never

    /// The window that they are seen through: to move it, or to close it.
    public let id: WindowID
    let stream: AsyncStream<Element>

    /// The way to read them, for one reader: iterators of one sequence share one place.
    public func makeAsyncIterator() -> AsyncStream<Element>.Iterator { stream.makeAsyncIterator() }
  }

#endif
