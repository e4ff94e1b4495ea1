internal import SyncProtocols
public import UpdateMachine

/// A message of the user's that is not in the account yet: what an app shows below a list until the
/// message's event has come, or what waits for the user's word.
public struct ZulipEcho: Sendable {
  /// The app's handle on it.
  public var ticket: MutationTicket
  public var message: ZulipOutgoing
  public var state: State

  public enum State: Hashable, Sendable {
    /// Waits to be sent: for the network, for those before it, or for the disk.
    case queued
    /// Is on its way, or at the server.
    case sent
    /// Was sent, and nobody knows whether it arrived: it may still show in the list by itself. Else the
    /// user says whether to send it again or to give it up.
    case uncertain
    /// It cannot be sent as things are now.
    case impossible(ZulipOutgoing.Refusal)
    /// The server refused it: to be edited, sent again or given up.
    case refused(RejectionCode)
  }
}

/// What a client calls a message of its own, and gets back with its event: "7.12", the outbox and the
/// ticket.
struct ZulipLocalID: Hashable, Sendable {
  var client: ClientID
  var ticket: MutationTicket

  init(_ client: ClientID, _ ticket: MutationTicket) {
    self.client = client
    self.ticket = ticket
  }

  /// `nil`: it is none of this library's.
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
  /// An outbox is named by the queue that its account had first: the server gives no two clients the
  /// same.
  init(zulip queue: QueueID) {
    var digest = Digest()
    digest.fold(queue.text)
    self.init(digest.value)
  }
}
