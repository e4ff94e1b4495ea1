/// A list of chunks that grows at its end and can be dropped from its front. Nothing is ever
/// copied, so it never takes twice its size, and memory is returned after reading.
@usableFromInline
@safe
struct Pile<Element: BitwiseCopyable>: ~Copyable {
  /// `nil`: dropped.
  @usableFromInline var chunks: [UnsafeMutablePointer<Element>?] = unsafe []
  @usableFromInline var count = 0
  /// The chunks before this one are dropped.
  @usableFromInline var heldChunks = 0

  /// The elements per chunk, as a power of 2: 16 KB of 16-byte states.
  @inlinable static var shift: Int { 10 }
  @inlinable static var mask: Int { (1 << shift) - 1 }

  @inlinable
  init() {}

  @inlinable
  deinit {
    for index in unsafe chunks.indices { unsafe chunks[index]?.deallocate() }
  }

  @inlinable
  var bytes: UInt64 {
    let links = unsafe chunks.capacity * MemoryLayout<UnsafeMutablePointer<Element>?>.stride
    return UInt64(links) + UInt64(heldChunks) * UInt64(MemoryLayout<Element>.stride << Self.shift)
  }

  /// Appends an element. O(1).
  @inlinable
  @inline(__always)
  mutating func append(_ element: Element) {
    if count & Self.mask == 0 { addChunk() }
    let chunk = unsafe chunks[count >> Self.shift].unsafelyUnwrapped
    unsafe (chunk + (count & Self.mask)).initialize(to: element)
    count &+= 1
  }

  @inlinable
  @inline(never)
  mutating func addChunk() {
    unsafe chunks.append(.allocate(capacity: 1 << Self.shift))
    heldChunks += 1
  }

  /// Returns an element that is not dropped. O(1).
  @inlinable
  @inline(__always)
  subscript(index: Int) -> Element {
    precondition(index < count, "there are only so many")
    guard let chunk = unsafe chunks[index >> Self.shift] else {
      preconditionFailure("it is dropped")
    }
    return unsafe chunk[index & Self.mask]
  }

  /// Returns the element at `index`; it and all earlier ones must not be read again.
  @inlinable
  @inline(__always)
  mutating func take(_ index: Int) -> Element {
    let element = self[index]
    if index & Self.mask == Self.mask { drop(index >> Self.shift) }
    return element
  }

  @inlinable
  @inline(never)
  mutating func drop(_ chunk: Int) {
    unsafe chunks[chunk]?.deallocate()
    unsafe chunks[chunk] = nil
    heldChunks -= 1
  }
}

/// A buffer of successors to look up. They are gathered first, so that their slots in the table can
/// be fetched together. It grows if one state has very many successors, and never shrinks.
@usableFromInline
@safe
struct Batch<State: PackedState> {
  @usableFromInline var states: UnsafeMutablePointer<State>
  @usableFromInline var fingerprints: UnsafeMutablePointer<UInt64>
  @usableFromInline var parents: UnsafeMutablePointer<Int>
  @usableFromInline var capacity: Int
  @usableFromInline var count = 0

  /// The size at which they are looked up: large enough that fetches overlap, small enough for the
  /// L1 cache.
  @inlinable static var size: Int { 256 }

  @inlinable
  init() {
    capacity = Self.size * 2
    unsafe states = .allocate(capacity: capacity)
    unsafe fingerprints = .allocate(capacity: capacity)
    unsafe parents = .allocate(capacity: capacity)
  }

  /// Frees the memory. Closures may hold copies of the pointers, so the owner decides when.
  @inlinable
  func deallocate() {
    unsafe states.deallocate()
    unsafe fingerprints.deallocate()
    unsafe parents.deallocate()
  }

  @inlinable
  var bytes: UInt64 {
    UInt64(capacity * (MemoryLayout<State>.stride + 8 + MemoryLayout<Int>.stride))
  }

  @inlinable
  @inline(__always)
  mutating func add(_ state: State, parent: Int) {
    if count == capacity { grow() }
    unsafe (states + count).initialize(to: state)
    unsafe fingerprints[count] = state.fingerprint
    unsafe parents[count] = parent
    count &+= 1
  }

  @inlinable
  @inline(never)
  mutating func grow() {
    let old = self
    capacity *= 2
    unsafe states = .allocate(capacity: capacity)
    unsafe fingerprints = .allocate(capacity: capacity)
    unsafe parents = .allocate(capacity: capacity)
    unsafe states.update(from: old.states, count: count)
    unsafe fingerprints.update(from: old.fingerprints, count: count)
    unsafe parents.update(from: old.parents, count: count)
    old.deallocate()
  }
}
