package store

import "errors"

// Errors that callers may distinguish. They are wrapped with the file and the remedy.
var (
	// ErrLocked: another process has the store open.
	ErrLocked = errors.New("the store is in use by another process")
	// ErrCorrupt: the file is damaged beyond repair, is no store, or was damaged while it was
	// open. Nothing was changed.
	ErrCorrupt = errors.New("the store is damaged")
	// ErrNewer: the file was written by a newer release. Nothing was changed.
	ErrNewer = errors.New("the store was written by a newer release")
	// ErrNotFound: the revision or key does not exist or was deleted.
	ErrNotFound = errors.New("not found")
	// ErrDiskFailed: the disk did not confirm a write, so its content is unknown. The store
	// accepts no more changes until it is reopened.
	ErrDiskFailed = errors.New("the disk did not confirm a write")
	// ErrRestored: the data was restored, and the process still holds the data from before. Nothing
	// was changed.
	ErrRestored = errors.New("a backup was just restored, and sluice restarts: try again in a moment")
)
