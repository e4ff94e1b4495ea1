import CDiskFaults
import CSQLite
import Foundation
import TestSupport
import UpdateMachine

@testable import SQLiteStore

/// A layer below SQLite that records every change of the disk, and can make changes fail.
@safe
final class FaultyDisk: @unchecked Sendable {
  /// One change to the disk.
  enum Change: Equatable {
    case write(path: String, offset: Int, bytes: [UInt8])
    case truncate(path: String, size: Int)
    case sync(path: String)
    case delete(path: String)
  }

  /// Which changes fail, and how. They are counted from the moment when the fault is set.
  struct Fault {
    /// The kind of changes that are counted; `nil` for all.
    var kind: disk_change_kind?
    /// The first change that fails.
    var place: Int
    /// How many changes fail from there on.
    var length = 1
    var failure = DISK_WRITE_FAILED
    /// How many sixteenths of a failing write are written all the same.
    var sixteenths = 0
  }

  private let lock = NSLock()
  private var recorded: [Change] = []
  private var pending: Fault?
  private var struck = 0
  /// SQLite keeps this pointer.
  private let name: UnsafeMutablePointer<CChar>

  init() {
    unsafe name = unsafe strdup("disk-\(UUID().uuidString)")
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    let code = unsafe disk_faults_register(
      name,
      { context, change, allowed in
        guard let context = unsafe context, let change = unsafe change?.pointee,
          let allowed = unsafe allowed
        else { return SQLITE_MISUSE }
        let disk = unsafe Unmanaged<FaultyDisk>.fromOpaque(context).takeUnretainedValue()
        let (verdict, count) = unsafe disk.judge(change, count: Int(allowed.pointee))
        unsafe allowed.pointee = Int32(count)
        return verdict
      }, context)
    precondition(code == SQLITE_OK, "the layer is registered")
  }

  deinit {
    unsafe disk_faults_unregister(name)
    unsafe free(name)
  }

  var settings: SQLiteSettings {
    var settings = SQLiteSettings()
    settings.vfs = unsafe String(cString: name)
    return settings
  }

  /// The same, with a log of so many pages at most.
  func settings(logPages: Int64) -> SQLiteSettings {
    var settings = settings
    settings.logPages = logPages
    return settings
  }

  /// All changes so far. A failed change is recorded as far as it was made.
  var changes: [Change] { lock.withLock { recorded } }

  /// How many changes have failed.
  var failures: Int { lock.withLock { struck } }

  func fail(_ fault: Fault?) { lock.withLock { pending = fault } }

  private func judge(_ change: disk_change, count: Int) -> (code: Int32, count: Int) {
    lock.withLock {
      let kind = disk_change_kind(rawValue: UInt32(unsafe change.kind))
      let code = code(for: kind)
      let isWrite = unsafe change.bytes != nil
      let sixteenths = pending?.sixteenths ?? 0
      let made = code == SQLITE_OK ? count : isWrite ? count * sixteenths / 16 : 0
      if made > 0 { unsafe recorded.append(Change(change, made)) }
      // A sync is not really made, because the disk of these tests is the list of changes.
      return (code, kind == DISK_SYNC ? 0 : made)
    }
  }

  private func code(for kind: disk_change_kind) -> Int32 {
    guard var fault = pending, fault.kind == nil || fault.kind == kind else { return SQLITE_OK }
    defer { pending = fault }
    fault.place -= 1
    guard fault.place < 0, fault.place >= -fault.length else { return SQLITE_OK }
    struck += 1
    return Int32(fault.failure.rawValue)
  }
}

extension FaultyDisk.Change {
  init(_ change: disk_change, _ count: Int) {
    let path = unsafe change.path.map { unsafe String(cString: $0) } ?? ""
    let offset = Int(unsafe change.offset)
    switch disk_change_kind(rawValue: UInt32(unsafe change.kind)) {
    case DISK_WRITE:
      let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: change.bytes, count: count))
      self = .write(path: path, offset: offset, bytes: bytes)
    case DISK_TRUNCATE: self = .truncate(path: path, size: offset)
    case DISK_SYNC: self = .sync(path: path)
    default: self = .delete(path: path)
    }
  }

  /// Whether this writes a page to the file whose name ends so.
  func isLongWrite(to suffix: String) -> Bool {
    guard case .write(let path, _, let bytes) = self else { return false }
    return path.hasSuffix(suffix) && bytes.count >= 4096
  }

  /// The first bytes of a write. Any other change is made whole or not at all.
  func cut(to count: Int) -> FaultyDisk.Change? {
    guard case .write(let path, let offset, let bytes) = self else { return nil }
    return .write(path: path, offset: offset, bytes: Array(bytes.prefix(count)))
  }
}

/// The content of a disk after some changes.
struct DiskImage {
  private(set) var files: [String: [UInt8]]

  mutating func make(_ change: FaultyDisk.Change) {
    switch change {
    case .write(let path, let offset, let bytes):
      var file = files[path] ?? []
      let end = offset + bytes.count
      if file.count < end { file += [UInt8](repeating: 0, count: end - file.count) }
      file.replaceSubrange(offset..<end, with: bytes)
      files[path] = file
    case .truncate(let path, let size):
      var file = files[path] ?? []
      if file.count > size { file.removeLast(file.count - size) }
      files[path] = file
    case .sync: break
    case .delete(let path): files[path] = nil
    }
  }

  init(_ files: [String: [UInt8]]) { self.files = files }

  /// The disk after a process died. Everything it wrote is there; the last write may be there in
  /// part.
  static func afterDeath(
    _ start: [String: [UInt8]], _ changes: ArraySlice<FaultyDisk.Change>, _ dice: inout SplitMix
  ) -> DiskImage {
    var image = DiskImage(start)
    for change in changes.dropLast() { image.make(change) }
    guard let last = changes.last else { return image }
    if case .write(_, _, let bytes) = last, dice.below(2) == 0 {
      if let part = last.cut(to: dice.below(bytes.count)) { image.make(part) }
    } else {
      image.make(last)
    }
    return image
  }

  /// The disk after a power cut. Each sector of 512 bytes that was written to a file since its last
  /// sync is there or not, independently of the others. Deletions and lengths are there.
  static func afterPowerCut(
    _ start: [String: [UInt8]], _ changes: ArraySlice<FaultyDisk.Change>, _ dice: inout SplitMix
  ) -> DiskImage {
    var lastSync: [String: Int] = [:]
    for (index, change) in zip(changes.indices, changes) {
      if case .sync(let path) = change { lastSync[path] = index }
    }
    // All, none, or some of the unsynced sectors are there.
    let odds = [0, 1, 4, 7, 8][dice.below(5)]
    var image = DiskImage(start)
    for (index, change) in zip(changes.indices, changes) {
      guard case .write(let path, let offset, let bytes) = change,
        index > lastSync[path] ?? -1
      else {
        image.make(change)
        continue
      }
      for sector in stride(from: 0, to: bytes.count, by: 512) where dice.below(8) < odds {
        let part = Array(bytes[sector..<min(sector + 512, bytes.count)])
        image.make(.write(path: path, offset: offset + sector, bytes: part))
      }
    }
    return image
  }
}
