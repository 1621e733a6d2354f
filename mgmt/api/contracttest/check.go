package contracttest

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// check reports deviations of a response from the document.
func (d *Document) check(t testing.TB, o *Operation, c Call, a Answer) {
	t.Helper()
	status := strconv.Itoa(a.Status)
	if a.Status == 500 {
		t.Errorf("%s: a fault of the appliance's own: %s", c, a.Raw)
		return
	}
	response, place := object(o.responses()[status]), o.place+"/responses/"+status
	if ref := text(response["$ref"]); ref != "" {
		response, place = d.resolved(response), strings.TrimPrefix(ref, "#")
	}
	if len(response) == 0 {
		t.Errorf("%s: answered %s, and documented are %s: %s", c, status, strings.Join(slices.Sorted(maps.Keys(o.responses())), " "), short(a.Raw))
		return
	}
	if strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment") != (a.kind() == "application/x-download") {
		t.Errorf("%s: a download of type %q, with Content-Disposition %q", c, a.kind(), a.Header.Get("Content-Disposition"))
	}
	content := object(response["content"])
	if len(content) == 0 || c.Method == "HEAD" {
		return
	}
	media, known := content[a.kind()]
	for kind, m := range content {
		if plain, _, _ := strings.Cut(kind, ";"); plain == a.kind() {
			media, known = m, true
		}
	}
	if !known {
		t.Errorf("%s: answered %s of type %q, and documented are %s", c, status, a.kind(), strings.Join(slices.Sorted(maps.Keys(content)), " "))
		return
	}
	if a.kind() == "application/json" && object(media)["schema"] != nil {
		d.checkBody(t, place+"/content/application~1json/schema", c, a)
	}
	for name, about := range object(response["headers"]) {
		if object(about)["required"] == true && a.Header.Get(name) == "" {
			t.Errorf("%s: answered %s without the header %s", c, status, name)
		}
	}
}

func (d *Document) checkBody(t testing.TB, pointer string, c Call, a Answer) {
	t.Helper()
	schema, err := d.schema(pointer)
	if err != nil {
		t.Error(err)
		return
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Raw))
	if err != nil {
		t.Errorf("%s: answered what is no JSON: %v: %s", c, err, short(a.Raw))
		return
	}
	if err := schema.Validate(body); err != nil {
		t.Errorf("%s: the answer %d is not of its schema: %v\n%s", c, a.Status, err, short(a.Raw))
	}
	if long := len(text(object(body)["message"])); a.Status >= 400 && long > maxMessage {
		t.Errorf("%s: the message of a refusal has %d bytes", c, long)
	}
}

// maxMessage bounds the message of a rejection, as quotations of the request are truncated.
const maxMessage = 4096

func short(b []byte) string {
	const most = 1500
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
