/// The names of an account's replicas in a file, which may hold several accounts.
struct AccountName {
  private let text: String
  /// A name for the account's own file, unique for each account.
  let fileName: String

  init(site: String, email: String) {
    text = "\(email) at \(site): "
    var name = ""
    for byte in "\(email) \(site)".utf8 {
      let character = Character(Unicode.Scalar(byte))
      let isPlain = character.isASCII && (character.isLetter || character.isNumber)
      name += isPlain || "@.-".contains(character) ? String(character) : "_\(byte)_"
    }
    fileName = name
  }

  var state: String { text + "account" }

  func printed(_ narrow: String) -> String { text + "printed \(narrow)" }

  func owns(_ name: String) -> Bool { name.hasPrefix(text) }
}
