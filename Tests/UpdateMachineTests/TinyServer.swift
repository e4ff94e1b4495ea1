import UpdateMachine

/// The state of the model world: what was written, in its order, and whether more may be.
struct Book: Equatable, Sendable {
  var notes: [UInt64] = []
  var isClosed = false
}

/// Every mutation writes numbers of its own, so that what took effect can be told.
enum Note: Mutation, Equatable {
  case write([UInt64])
  /// Throws while the book is closed.
  case writeIfOpen(UInt64)
  /// The server never takes it.
  case forbidden(UInt64)

  enum Refusal: Error { case closed }

  var name: String { "note" }

  var numbers: [UInt64] {
    switch self {
    case .write(let numbers): numbers
    case .writeIfOpen(let number), .forbidden(let number): [number]
    }
  }

  func apply(to book: inout Book) throws(Refusal) {
    book.notes += numbers
    if case .writeIfOpen = self, book.isClosed { throw .closed }
  }

  func coalesced(with later: Note) -> Note? {
    if case .write(let one) = self, case .write(let other) = later { return .write(one + other) }
    return nil
  }
}

extension Note: Storable {
  func put(into bytes: inout ByteWriter) {
    switch self {
    case .write: bytes.put(UInt8(0))
    case .writeIfOpen: bytes.put(UInt8(1))
    case .forbidden: bytes.put(UInt8(2))
    }
    bytes.put(numbers)
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    let kind = try bytes.takeByte()
    let numbers: [UInt64] = try bytes.takeArray()
    switch kind {
    case 0: self = .write(numbers)
    case 1: self = .writeIfOpen(numbers[0])
    case 2: self = .forbidden(numbers[0])
    default: throw StoredFormError(expected: "a note")
    }
  }
}

/// The rules of a server, and nothing else.
struct TinyServer {
  var book = Book()
  var last = MutationID.none
  var lastRefusal: MutationRefusal?
  /// Tickets in the order in which they were run, where there are no IDs.
  var echoes: [MutationTicket] = []
  var refusals = 0
  var ignored = 0
  /// Answers to pushes by ID, and mutations that came a second time, where copies do no harm.
  var answered: [RequestID: PushAnswer] = [:]
  var repeated = 0

  mutating func take(_ push: PushRequest<Note>) -> PushAnswer {
    if let lastRefusal, lastRefusal.id > push.knownRefusal,
      !push.voided.contains(lastRefusal.id)
    {
      ignored += 1
      return .refused(lastRefusal)
    }
    for item in push.mutations {
      while push.voided.contains(last.next) {
        last = last.next
        lastRefusal = MutationRefusal(last)
      }
      guard item.id == last.next else { continue }
      last = item.id
      guard run(item.change) else {
        lastRefusal = MutationRefusal(item.id, RejectionCode("NO"))
        return .refused(lastRefusal!)
      }
    }
    return .accepted
  }

  /// Without IDs: whatever comes is run.
  mutating func takeUnnamed(_ push: PushRequest<Note>) -> PushAnswer {
    for item in push.mutations {
      guard run(item.change) else { return .refused(MutationRefusal(item.id)) }
      echoes.append(item.ticket)
    }
    return .accepted
  }

  /// Without IDs, but a copy has no effect: what became of the first holds for it, too.
  mutating func takeAgain(_ push: PushRequest<Note>) -> PushAnswer {
    if let answer = answered[push.id] {
      repeated += 1
      return answer
    }
    var answer = PushAnswer.accepted
    for item in push.mutations {
      if book.notes.contains(where: item.change.numbers.contains) {
        repeated += 1
      } else if !run(item.change) {
        answer = .refused(MutationRefusal(item.id))
        break
      }
    }
    answered[push.id] = answer
    return answer
  }

  /// As ``takeAgain(_:)``, but a refusal is not told: the mutation waits for its next copy.
  mutating func takePart(_ push: PushRequest<Note>) -> PushAnswer {
    var ids: [MutationID] = []
    for item in push.mutations {
      if book.notes.contains(where: item.change.numbers.contains) {
        repeated += 1
      } else if !run(item.change) {
        break
      }
      ids.append(item.id)
    }
    return .acceptedOnly(ids)
  }

  mutating func run(_ change: Note) -> Bool {
    var next = book
    do throws(Note.Refusal) {
      try change.apply(to: &next)
    } catch {
      refusals += 1
      return false
    }
    if case .forbidden = change {
      refusals += 1
      return false
    }
    book = next
    return true
  }
}
