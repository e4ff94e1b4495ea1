import MessageSync
import UpdateMachine
import ZulipSync

// Sending one message. It goes through the outbox, so it is kept if there is no connection.

extension Follower {
  /// Sends a message to the place that the narrow names, and ends once it is there. A name that is
  /// not found counts as unknown only once we are up to date.
  func post(_ text: String, _ model: ZulipAccount) async {
    do throws(Misuse) {
      let recipient = try narrow.recipient(in: model.realm)
      task = Task { await post(ZulipOutgoing(recipient, text)) }
    } catch {
      if claim == .connected { await end(.trouble(error.words, code: 2)) }
    }
  }

  private func post(_ message: ZulipOutgoing) async {
    await discardOld()
    do throws(MutationError<ZulipOutgoing.Refusal>) {
      let sent = try await machine.mutate(.send(message))
      let fate = await machine.acknowledged(sent.ticket)
      guard ending == nil, fate != .acknowledged else { return await end(.done) }
      await discardOld()
      await end(.trouble("not sent", code: 1))
    } catch {
      await end(.trouble("not sent: \(Follower.words(error))", code: 1))
    }
  }

  /// Gives up messages about which only the user could decide, and says so: this command cannot
  /// ask. Otherwise they would hold up later ones to the same place for ever.
  private func discardOld() async {
    for echo in await machine.state.echoes {
      let why: String
      switch echo.state {
      case .queued, .sent: continue
      case .uncertain: why = "may or may not have arrived. Look before you send it again"
      case .impossible(let refusal): why = "cannot be sent: \(Follower.words(refusal))"
      case .refused(let code): why = "was refused: \(Printer.plain(code.text))"
      }
      let start = String(echo.message.content.prefix(Follower.shownMaximum))
      printer.complain("the message '\(Printer.plain(start))' \(why)")
      await machine.discard(echo.ticket)
    }
  }

  /// The most characters of a message in a complaint.
  private static var shownMaximum: Int { 40 }

  private static func words(_ error: MutationError<ZulipOutgoing.Refusal>) -> String {
    switch error {
    case .refused(let refusal): words(refusal)
    case .full: "too many messages are waiting to be sent"
    case .nothingHeld, .notConnected: "the account's state has not been read"
    case .unstorable(let error): "it cannot be saved: \(error)"
    }
  }

  private static func words(_ refusal: ZulipOutgoing.Refusal) -> String {
    switch refusal {
    case .empty: "it is empty"
    case .tooLong(let limit): "it has more than \(limit) characters"
    case .topicTooLong(let limit): "the topic has more than \(limit) characters"
    case .noChannel: "there is no such channel, or you cannot see it"
    case .archivedChannel: "the channel is archived"
    case .noRecipients: "it goes to nobody"
    case .deactivated(let user): "user \(user) is deactivated"
    case .draftGone, .draftExists, .draftsOff: "drafts are not sent"
    }
  }

  static func words(unsent wait: Int64, _ trouble: String) -> String {
    "not sent after \(wait) s: \(trouble). The message is kept, and leaves when follow runs next"
  }
}

extension NarrowText {
  /// The place that it names: a channel and a topic, or a direct conversation.
  func recipient(in state: ZulipState) throws(Misuse) -> ZulipConnection.Recipient {
    var channel: ChannelID?
    var topic: String?
    var users: [UserID]?
    let terms = try narrow(in: state).terms
    for term in terms where !term.isNegated {
      switch (term.name, term.operand) {
      case ("channel", .number(let number)): channel = ChannelID(number)
      case ("topic", .text(let text)): topic = text
      case ("dm", .numbers(let numbers)): users = numbers.map { UserID($0) }
      default: break
      }
    }
    if let channel, let topic, terms.count == 2 { return .channel(channel, topic: topic) }
    if let users, terms.count == 1 { return .direct(users) }
    throw Misuse(
      "--narrow: send needs one place, channel:NAME/topic:TOPIC or dm:NAME, and not '\(words)'")
  }
}
