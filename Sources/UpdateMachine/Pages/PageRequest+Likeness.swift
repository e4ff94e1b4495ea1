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

  /// What it asks for, though perhaps for more or less of it. While a request is out, another with
  /// the same question is not needed.
  @inlinable
  var question: PageQuestion<Narrow, ID> { PageQuestion(of: self) }

  /// Whether both ask for the same page.
  @inlinable
  func asksLike(_ other: PageRequest) -> Bool {
    switch (want, other.want) {
    case (.item(let one), .item(let another)): one == another
    case (.about(let anchor, let before, let after), .about(let about, let older, let newer)):
      // By their points, because other modules cannot specialise a synthesised `==`.
      anchor.point?.place == about.point?.place && (before > 0) == (older > 0)
        && (after > 0) == (newer > 0)
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

/// A request as the key of a table: requests that ask alike have equal ones. It is hashed once.
@usableFromInline
struct PageQuestion<Narrow: Hashable & Sendable, ID: ListID>: Hashable, Sendable {
  @usableFromInline var request: PageRequest<Narrow, ID>
  @usableFromInline var hash: Int

  @inlinable
  init(of request: PageRequest<Narrow, ID>) {
    self.request = request
    var hasher = Hasher()
    hasher.combine(request.narrow)
    switch request.want {
    case .item(let id): hasher.combine(id)
    case .about(let anchor, let before, let after):
      if case .id(let id) = anchor { hasher.combine(id) }
      hasher.combine(before > 0)
      hasher.combine(after > 0)
    }
    hash = hasher.finalize()
  }

  @inlinable
  static func == (one: PageQuestion, other: PageQuestion) -> Bool {
    one.hash == other.hash && one.request.asksLike(other.request)
  }

  @inlinable
  func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
