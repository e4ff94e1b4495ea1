internal import SyncProtocols
public import UpdateMachine

/// A message that the user has sent and that is not in the account yet. An app shows it below a
/// list until the message's event comes, or until the user decides about it.
public struct ZulipEcho: Sendable {
  /// The app's handle for it.
  public var ticket: MutationTicket
  /// The message as the user sent it, or last edited it.
  public var message: ZulipOutgoing
  /// What is known of its sending.
  public var state: State

  /// How far the sending of a message has come.
  public enum State: Hashable, Sendable {
    /// Waits for the network, for earlier messages, or for the disk.
    case queued
    /// On its way, or at the server. Or it may be there, and is looked for.
    case sent
    /// Sent, but it is unknown whether it arrived: it was not there. It may still appear in the
    /// list. Otherwise the user decides whether to send it again or to give it up.
    case uncertain
    /// Cannot be sent as things are now.
    case impossible(ZulipOutgoing.Refusal)
    /// Refused by the server. The user can edit it, send it again or give it up.
    case refused(RejectionCode)
  }
}

/// A client's name for a message of its own, which the message's event carries. An example is
/// "7.12": the outbox, then the ticket.
struct ZulipLocalID: Hashable, Sendable {
  var client: ClientID
  var ticket: MutationTicket

  init(_ client: ClientID, _ ticket: MutationTicket) {
    self.client = client
    self.ticket = ticket
  }

  /// Parses a name; `nil` if it is not this library's.
  init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let client = UInt64(parts[0]), let ticket = UInt64(parts[1]) else {
      return nil
    }
    self.init(ClientID(client), MutationTicket(ticket))
  }

  var text: String { "\(client.number).\(ticket.number)" }
}

extension ClientID {
  /// Names an outbox by the account's first queue. The server gives no two clients the same queue.
  init(zulip queue: QueueID) {
    var digest = StateDigest()
    digest.fold(queue.text)
    self.init(digest.value)
  }
}
