package validatetest

import (
	"encoding/json"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
)

// TeaHash is a hash of "tea" in htpasswd format.
const TeaHash = "$2y$05$buP1zTIhCSBwzjbi2G2IveSR91Z/C.SYy3pcsq0fexwERkkwA/UL6"

func Replacement(header, match, by string) farm.HeaderReplace {
	return farm.HeaderReplace{Header: header, Match: match, Replace: by}
}

// L4Farm returns a farm created by POST /farms and changed by each body of PUT.
func L4Farm(t *testing.T, create string, updates ...string) *farm.Farm {
	t.Helper()
	var f farm.Farm
	if err := Apply(t, &httpfarm.Create, create, &f); err != nil {
		t.Fatalf("%s: %v", create, err)
	}
	for _, update := range updates {
		if err := Apply(t, &l4farm.Update, update, &f); err != nil {
			t.Fatalf("%s: %v", update, err)
		}
	}
	return &f
}

func Apply[T any](t *testing.T, table *field.Table[T], text string, to *T) error {
	t.Helper()
	values, err := table.Decode("", Body(t, text))
	if err == nil {
		err = values.Apply(to)
	}
	return err
}

func L4Create(vport string) string {
	return `{"farmname":"a","profile":"l4xnat","vip":"127.0.0.1","vport":` + vport + `}`
}

// Change decodes a body and applies it to an object.
func Change[T any](t *testing.T, table *field.Table[T], to *T, text string) (field.Values[T], error) {
	t.Helper()
	values, err := table.Decode("", Body(t, text))
	if err != nil {
		return values, err
	}
	return values, values.Apply(to)
}

// Sent returns one value of a response's params as JSON.
func Sent[T any](v field.Values[T], name string) string {
	b, _ := json.Marshal(v.Sent()[name])
	return string(b)
}

// Body decodes JSON like the API.
func Body(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
