package store

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// headReader reads the beginnings of records: those that hold a whole configuration
// are not expanded to its end to learn who wrote them. Its zero value is ready; it is
// no slower for many records than for one.
type headReader struct {
	flate io.ReadCloser
	plain bytes.Buffer // what was expanded so far
}

// read decodes the members of a record that stand before the one called end.
func (h *headReader) read(b []byte, end string, value any) error {
	if !intact(b) {
		return errRecord
	}
	head, err := h.before(b[sumSize:], end, maxRecord)
	if err != nil {
		return fmt.Errorf("decode record: %w", err)
	}
	if err := json.Unmarshal(head, value); err != nil {
		return fmt.Errorf("decode record: %w", err)
	}
	return nil
}

// before is an object without the member called end and those after it, of which so many
// bytes are expanded at most. It is valid until the next call.
func (h *headReader) before(compressed []byte, end string, most int64) ([]byte, error) {
	from := bytes.NewReader(compressed)
	if h.flate == nil {
		h.flate = flate.NewReader(from)
	} else if err := h.flate.(flate.Resetter).Reset(from, nil); err != nil {
		return nil, err
	}
	h.plain.Reset()
	members := json.NewDecoder(io.TeeReader(io.LimitReader(h.flate, most), &h.plain))
	if t, err := members.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errors.New("it is no object"), err)
	}
	upTo := members.InputOffset()
	for members.More() {
		name, err := members.Token()
		if err != nil {
			return nil, err
		}
		if name == end {
			break
		}
		var skipped json.RawMessage
		if err := members.Decode(&skipped); err != nil {
			return nil, err
		}
		upTo = members.InputOffset()
	}
	h.plain.Truncate(int(upTo))
	h.plain.WriteByte('}')
	return h.plain.Bytes(), nil
}
