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
	"sync"

	bolt "go.etcd.io/bbolt"
)

// A record is the first 8 bytes of the SHA-256 of its data, then the data: JSON compressed with
// DEFLATE. bbolt checks only its two meta pages. Without the checksum a flipped bit could
// return another configuration.

const sumSize = 8

// maxRecord is the maximum expanded size of a record: far above the largest configuration, and
// far below the demands of a crafted file.
const maxRecord = 1 << 28

var errRecord = errors.New("record does not match its checksum")

func seal(value any) ([]byte, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	out := bytes.NewBuffer(make([]byte, sumSize, sumSize+len(plain)/4))
	w := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	w.Reset(out)
	_, _ = w.Write(plain) // a buffer does not fail
	_ = w.Close()
	return summed(out.Bytes()), nil
}

// writers are pooled because each has tables of more than half a megabyte.
var writers = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // fails only for invalid levels
	return w
}}

// summed writes the checksum into the space before the content of a record.
func summed(record []byte) []byte {
	sum := sha256.Sum256(record[sumSize:])
	copy(record, sum[:sumSize])
	return record
}

// putRecord seals a value and stores it under a key.
func putRecord(b *bolt.Bucket, key []byte, value any) error {
	record, err := seal(value)
	if err != nil {
		return err
	}
	return b.Put(key, record)
}

// intact reports whether a record matches its checksum, without expanding it.
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
	plain, err := expand(b[sumSize:], maxRecord)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(plain, value); err != nil {
		return fmt.Errorf("decode record: %w", err)
	}
	return nil
}

// expand decompresses a record of at most that many bytes.
func expand(b []byte, most int64) ([]byte, error) {
	var x expander
	x.plain.Grow(min(4*len(b), int(most)) + bytes.MinRead)
	return x.expand(b, most)
}

// expander expands one record after another in the same memory.
type expander struct {
	flate io.ReadCloser
	plain bytes.Buffer
}

// expanders are pooled: each has tables of about ten kilobytes, and a large zone has a thousand
// records.
var expanders = sync.Pool{New: func() any { return new(expander) }}

// expand is the function expand. The result is valid until the next call.
func (x *expander) expand(b []byte, most int64) ([]byte, error) {
	if x.flate == nil {
		x.flate = flate.NewReader(bytes.NewReader(b))
	} else if err := x.flate.(flate.Resetter).Reset(bytes.NewReader(b), nil); err != nil {
		return nil, fmt.Errorf("expand record: %w", err)
	}
	x.plain.Reset()
	if _, err := x.plain.ReadFrom(io.LimitReader(x.flate, most+1)); err != nil {
		return nil, fmt.Errorf("expand record: %w", err)
	}
	if int64(x.plain.Len()) > most {
		return nil, fmt.Errorf("record expands to more than %d bytes", most)
	}
	return x.plain.Bytes(), nil
}

// numberKey returns a key that sorts like the number.
func numberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func keyNumber(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("key of %d bytes where a number of 8 is expected", len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}
