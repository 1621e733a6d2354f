package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sluicelb/sluice/mgmt/validate/suggest"
)

// Strictly decodes an object with only these fields, each at most once.
func Strictly(raw []byte, into any, names ...string) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.New("it must be an object")
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return errors.New("it is broken JSON")
		}
		name := t.(string) // names in an object are strings
		switch {
		case !slices.Contains(names, name):
			return fmt.Errorf("unknown field %s%s", Quote(name), suggest.Field(name, names))
		case seen[name]:
			return fmt.Errorf("%s: given twice", name)
		}
		seen[name] = true
		var skipped json.RawMessage
		if dec.Decode(&skipped) != nil {
			return errors.New("it is broken JSON")
		}
	}
	if _, err := dec.Token(); err != nil {
		return errors.New("it is broken JSON")
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("something follows the object")
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return errors.New("a field has a value of the wrong kind")
	}
	return nil
}
