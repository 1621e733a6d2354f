// Package apply is the one writer of the configuration: it checks a change,
// publishes it to the engines, and keeps it only when they took it.
//
//	edit a copy → validate → check references → resolve names → give IDs → publish → commit
//
// A change is all or nothing. When the engine or netd says no, does not answer
// in time, or the disk does, the configuration before the change is published
// again and stays the current one. Changes wait for each other; what they see
// is always the newest configuration.
//
// Certificates are in no configuration, only their names are. What is behind a
// name is replaced by Renew, under the same lock and with the same promise.
//
// The store holds the configuration that was accepted, the engines the one they
// acknowledged last; InSync tells whether both are the same. After an engine was
// restarted, and whenever InSync is false, the owner calls Republish.
package apply
