package store

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A record is the first 8 bytes of the SHA-256 of what follows, then JSON
// compressed with DEFLATE. bbolt checks only its two meta pages: without the
// checksum a flipped bit would come back as another configuration.

const sumSize = 8

// maxRecord bounds what one record may expand to: far above the largest
// configuration, far below what a crafted file could ask for.
const maxRecord = 1 << 28

var errRecord = errors.New("record does not match its checksum")

func seal(value any) ([]byte, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	out := bytes.NewBuffer(make([]byte, sumSize, sumSize+len(plain)/4))
	w, err := flate.NewWriter(out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(out.Bytes()[sumSize:])
	copy(out.Bytes(), sum[:sumSize])
	return out.Bytes(), nil
}

// intact reports whether a record is what was written, without expanding it.
func intact(b []byte) bool {
	if len(b) < sumSize {
		return false
	}
	sum := sha256.Sum256(b[sumSize:])
	return bytes.Equal(sum[:sumSize], b[:sumSize])
}

func unseal(b []byte, value any) error {
	if !intact(b) {
		return errRecord
	}
	r := flate.NewReader(bytes.NewReader(b[sumSize:]))
	plain, err := io.ReadAll(io.LimitReader(r, maxRecord+1))
	if err != nil {
		return fmt.Errorf("expand record: %w", err)
	}
	if len(plain) > maxRecord {
		return fmt.Errorf("record expands to more than %d bytes", maxRecord)
	}
	if err := json.Unmarshal(plain, value); err != nil {
		return fmt.Errorf("decode record: %w", err)
	}
	return nil
}

// numberKey orders like the number.
func numberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func keyNumber(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("key of %d bytes where a number of 8 is expected", len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}
