extension PageRequest {
  /// Creates the request for what a list wants.
  @inlinable
  init(_ want: PageWant<ID>, of narrow: Narrow) {
    switch want {
    case .item(let id): self.init(id)
    case .about(let anchor, let before, let after):
      self.init(narrow, anchor, before: before, after: after)
    }
  }

  /// Whether both ask for the same page, though perhaps for more or less of it. While one is out,
  /// the other is not needed.
  @inlinable
  func asksLike(_ other: PageRequest) -> Bool {
    switch (want, other.want) {
    case (.item(let one), .item(let another)): one == another
    case (.about(let anchor, let before, let after), .about(let about, let older, let newer)):
      anchor == about && (before > 0) == (older > 0) && (after > 0) == (newer > 0)
        && narrow == other.narrow
    case (.item, .about), (.about, .item): false
    }
  }

  /// Whether its answer also answers `other`: the same page, with rows on each side where `other`
  /// wants some.
  @inlinable
  func covers(_ other: PageRequest) -> Bool {
    switch (want, other.want) {
    case (.item(let one), .item(let another)): one == another
    case (.about(let anchor, let before, let after), .about(let about, let older, let newer)):
      anchor == about && (before > 0 || older == 0) && (after > 0 || newer == 0)
        && narrow == other.narrow
    case (.item, .about), (.about, .item): false
    }
  }
}
