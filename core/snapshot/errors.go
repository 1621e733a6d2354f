package snapshot

import "errors"

// The reasons for which a snapshot is refused. Errors wrap them and add details. The
// engine keeps its current generation after any of them.
var (
	// ErrTruncated occurs if the length differs from the header, or the header is
	// incomplete.
	ErrTruncated = errors.New("snapshot has the wrong length")
	// ErrMagic occurs if the data is not a snapshot.
	ErrMagic = errors.New("not a snapshot")
	// ErrLayout occurs if the writer uses another layout version, because programs of
	// different releases run together.
	ErrLayout = errors.New("snapshot layout not supported")
	// ErrChecksum occurs if a bit changed after encoding.
	ErrChecksum = errors.New("snapshot checksum does not match")
	// ErrBody occurs if the body does not match this layout or exceeds the limits of a
	// configuration.
	ErrBody = errors.New("snapshot body not understood")
	// ErrTooLarge occurs if a configuration exceeds the size that engines accept.
	ErrTooLarge = errors.New("it is too large")
	// ErrConfig occurs if Check rejects a correctly encoded configuration.
	ErrConfig = errors.New("configuration cannot be carried")
	// ErrBase occurs if the reader did not read the base of a snapshot last. The writer
	// must then send a whole snapshot.
	ErrBase = errors.New("snapshot follows one that is not here")
	// ErrPage occurs if memory does not contain a control page of this layout.
	ErrPage = errors.New("no control page")
)
