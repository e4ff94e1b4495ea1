extension PageRequest {
  /// What a list wants.
  @inlinable
  init(_ want: PageWant<ID>, of narrow: Narrow) {
    switch want {
    case .item(let id): self.init(id)
    case .about(let anchor, let before, let after):
      self.init(narrow, anchor, before: before, after: after)
    }
  }

  /// Whether it asks for the same page, but perhaps for more or less of it: while one is out, the
  /// other need not be.
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

  /// Whether its answer is one to the other as well: it asks for the same page, and on each side that
  /// the other wants something of.
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
