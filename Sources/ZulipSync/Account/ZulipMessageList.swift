public import MessageSync
public import UpdateMachine

/// A list of messages: the narrow to ask the server for, and the filter that decides locally which
/// messages are in it. Both are kept: the filter has only a conversation's number, and the users
/// cannot be recovered from it.
public struct ZulipMessageList: MessageNarrow {
  public typealias Content = ZulipContent

  package let narrow: ZulipNarrow
  package let filter: MessageFilter<ZulipContent>

  /// - Parameters:
  ///   - narrow: the narrow to ask the server for.
  ///   - directory: the current state's directory (`ZulipState.directory`). A channel's name means
  ///     the channel that has it now.
  package init(_ narrow: ZulipNarrow, _ directory: ZulipNarrow.Directory) {
    self.narrow = narrow
    filter = narrow.filter(directory)
  }

  public var reads: MessageFields { filter.reads }
  public var isDecidable: Bool { filter.isDecidable }
  public var channel: ChannelID? { filter.channel }

  public func verdict(on partialMessage: PartialMessage<ZulipContent>) -> Verdict {
    filter.verdict(on: partialMessage)
  }
}

extension ZulipMessageList: CustomStringConvertible {
  /// "channel:4 topic:lunch".
  public var description: String { filter.description }
}

// MARK: Rows

extension ZulipMessageList: Storable {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(narrow.terms)
    bytes.put(filter)
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    narrow = ZulipNarrow(try bytes.takeArray())
    filter = try bytes.take()
  }
}

extension ZulipNarrow.Term: Storable {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(name)
    bytes.put(isNegated)
    switch operand {
    case .number(let number):
      bytes.put(UInt8(0))
      bytes.put(number)
    case .numbers(let numbers):
      bytes.put(UInt8(1))
      bytes.put(numbers.map { UserID($0) })
    case .text(let text):
      bytes.put(UInt8(2))
      bytes.put(text)
    }
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    name = try bytes.takeString()
    isNegated = try bytes.takeBool()
    switch try bytes.takeByte() {
    case 0: operand = .number(try bytes.takeInt64())
    case 1:
      let users: [UserID] = try bytes.takeArray()
      operand = .numbers(users.map(\.number))
    case 2: operand = .text(try bytes.takeString())
    default: throw StoredFormError(expected: "an operand")
    }
  }
}

extension ZulipContent: Storable {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(form == .rendered)
    bytes.put(text)
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    let isRendered = try bytes.takeBool()
    self.init(try bytes.takeString(), isRendered ? .rendered : .raw)
  }
}
