package rest_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// throughMaps returns the expected output of Encode: the library sorts the keys of maps.
func throughMaps(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var sorted any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&sorted); err != nil {
		t.Fatal(err)
	}
	b, err := json.MarshalIndent(sorted, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWhatJSONCannotSayIsAnError(t *testing.T) {
	if b, err := rest.Encode(math.NaN()); err == nil || b != nil {
		t.Errorf("%v, %q", err, b)
	}
}

// FuzzAnswersAreSortedAndIndented compares Encode with the library.
func FuzzAnswersAreSortedAndIndented(f *testing.F) {
	for _, seed := range []string{
		`null`, `1`, `-1.5e9`, `"a"`, `""`, `"\\"`, `"\\\""`, `[]`, `{}`, `[[]]`, `[{}]`, `{"a":{}}`, `[1,"a",true,null]`, `{"b":1,"a":2}`, `{"b":{"d":1,"c":[{"f":1,"e":2},3]},"a":2}`,
		`{"a":1,"a.b":2,"a b":3,"aa":4,"A":5}`, `{"<":1,"a":2,"\\":3,"é":4,"\u2028":5,"\"":6}`, `{"x":"{\"a\":[1,2]}","w":"],}"}`, `{"n":18446744073709551615}`, `[[[[[[[[[[[[[[[[[[[[{"b":1,"a":[]}]]]]]]]]]]]]]]]]]]]]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		// A second variant with objects in reverse key order.
		var v any
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			return
		}
		got, err := rest.Encode(backwards{v})
		if err != nil {
			t.Fatal(err)
		}
		if want := throughMaps(t, v); string(got) != want {
			t.Errorf("%s\ngot  %s\nwant %s", raw, got, want)
		}
	})
}

// backwards encodes objects with their keys in the wrong order.
type backwards struct{ v any }

func (b backwards) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	switch v := b.v.(type) {
	case map[string]any:
		var keys []string
		for k := range v {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(a, b string) int { return strings.Compare(b, a) })
		out.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				out.WriteByte(',')
			}
			key, _ := json.Marshal(k)
			value, err := json.Marshal(backwards{v[k]})
			if err != nil {
				return nil, err
			}
			out.Write(append(append(key, ':'), value...))
		}
		out.WriteByte('}')
	case []any:
		list := make([]backwards, len(v))
		for i := range v {
			list[i] = backwards{v[i]}
		}
		return json.Marshal(list)
	default:
		return json.Marshal(v)
	}
	return out.Bytes(), nil
}
