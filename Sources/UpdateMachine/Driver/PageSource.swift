#if !hasFeature(Embedded)

  /// A source that has pages, too: parts of what the server has, asked for beside the log.
  ///
  /// With one, an app opens windows on lists (``UpdateMachine/UpdateMachine/openWindow(on:showing:)``),
  /// and what they lack is fetched.
  public protocol PageSource: Source where Model: PagedModel {
    /// Asks for some messages of a narrow, or for one by its ID. Several may be out at once, beside a
    /// register, a poll and a release; one that is cancelled should end soon, as those should.
    ///
    /// - Parameter request: which messages of which narrow.
    /// - Returns: the messages as they are read at some moment between call and return, in ascending
    ///   order, without a hole; and which of the list's ends were reached.
    func page(
      _ request: PageRequest<Model.Narrow>
    ) async throws(SyncFailure) -> MessagePage<Model.Narrow.Content>

    /// How eagerly pages are fetched from this server. Asked once, before the first. By default right
    /// for most.
    var pageSettings: PageSettings { get }
  }

  extension PageSource {
    public var pageSettings: PageSettings { PageSettings() }
  }

#endif
