package api

import (
	"bytes"
	"encoding/json"
	"io"
)

// encode writes v as the family does: two blanks of indent, keys sorted. Go
// sorts the keys of maps, so structs take a second turn through one. The
// characters < > & stay escaped: an answer read as HTML is still no HTML.
func encode(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var sorted any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // 64-bit numbers stay exact
	if err := dec.Decode(&sorted); err != nil {
		return nil, err
	}
	return json.MarshalIndent(sorted, "", "  ")
}

func encodeTo(w io.Writer, v any) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
