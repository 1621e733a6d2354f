package store

import "errors"

// The errors a caller may want to tell apart; they come wrapped with the file
// and what to do.
var (
	// ErrLocked: another process has the store open.
	ErrLocked = errors.New("the store is in use by another process")
	// ErrCorrupt: the file is damaged beyond repair, or it is no store, or it was damaged
	// while it was open. Nothing was changed.
	ErrCorrupt = errors.New("the store is damaged")
	// ErrNewer: the file was written by a newer release. Nothing was changed.
	ErrNewer = errors.New("the store was written by a newer release")
	// ErrNotFound: no such revision (any more) or no such key.
	ErrNotFound = errors.New("not found")
	// ErrDiskFailed: a write was not confirmed by the disk, so nobody knows what
	// it holds. The store accepts no more changes until it is opened again.
	ErrDiskFailed = errors.New("the disk did not confirm a write")
)
