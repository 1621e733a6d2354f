package snapshot

import "errors"

// Why a snapshot is refused; each comes wrapped with the particulars. After
// any of them the engine keeps the generation it has.
var (
	// ErrTruncated occurs when there are fewer or more bytes than the header
	// says, or not even a header.
	ErrTruncated = errors.New("snapshot has the wrong length")
	// ErrMagic occurs when the bytes are no snapshot at all.
	ErrMagic = errors.New("not a snapshot")
	// ErrLayout occurs when the writer uses another layout version: programs of
	// different releases run side by side.
	ErrLayout = errors.New("snapshot layout not supported")
	// ErrChecksum occurs when a bit changed after the snapshot was encoded.
	ErrChecksum = errors.New("snapshot checksum does not match")
	// ErrBody occurs when the body is not the configuration this layout
	// describes, or is larger than any configuration can be.
	ErrBody = errors.New("snapshot body not understood")
	// ErrTooLarge occurs when a configuration is more than an engine takes.
	ErrTooLarge = errors.New("it is too large")
	// ErrConfig occurs when the configuration is well encoded but no engine can
	// carry it; see Check.
	ErrConfig = errors.New("configuration cannot be carried")
	// ErrBase occurs when a snapshot says what differs from one that was not read last:
	// the writer has to send a whole one.
	ErrBase = errors.New("snapshot follows one that is not here")
	// ErrPage occurs when memory does not hold a control page of this layout.
	ErrPage = errors.New("no control page")
)
