// Package store keeps the configuration of the appliance on disk: every change
// is one revision, kept with its author, time, reason and difference.
//
// One bbolt file, store.db, holds everything; a commit is one transaction that
// was synced before Commit returns, so a machine that dies at any instant comes
// back with the last acknowledged revision or with the one being written.
package store
