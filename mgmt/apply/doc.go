// Package apply is the only writer of the configuration. It validates a change, publishes it to
// the engines, and keeps it only if they accepted it.
//
//	edit a copy → validate → check references → resolve names → give IDs → publish → commit
//
// A change is all or nothing. If the engine or netd refuses it or times out, or the disk fails,
// the previous configuration is published again and stays the current one. Changes are
// serialised, and each starts from the newest configuration. While a change waits for name
// servers, others may come first; it then starts again.
//
// A configuration holds only the names of certificates. Renew replaces the content behind a
// name under the same lock, also all or nothing.
//
// The store holds the accepted configuration, the engines the one they acknowledged last;
// InSync reports whether both are the same. The owner calls Republish after a restart of an
// engine, and whenever InSync is false.
package apply
