package cli_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Commands that print no records request their number only: a zone may have a million. With
// --json they print the response with everything.
func TestCommandsAskForTheNumberOfRecordsOnly(t *testing.T) {
	const farm = `{"params":{"farmname":"names","profile":"gslb"},"services":[],"zones":[]}`
	for command, want := range map[string]string{
		"zone list names":        "records=count",
		"farm show names":        "records=count",
		"zone list names --json": "",
		"farm show names --json": "",
	} {
		var mu sync.Mutex
		queries := map[string]string{}
		data := cannedFor(t, map[string]string{
			"/farms/names":       farm,
			"/farms/names/zones": `{"params":[{"id":"example.com","defnamesv":"ns1","serial":7,"ttl":60,"record_count":1000002}]}`,
		}, func(r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			queries[r.URL.Path] = r.URL.RawQuery
		})
		r := execute("", append(strings.Fields(command), "--data", data)...)
		path := "/api/v4.0/farms/names"
		if strings.HasPrefix(command, "zone") {
			path += "/zones"
		}
		mu.Lock()
		if got, asked := queries[path]; r.code != 0 || !asked || got != want {
			t.Errorf("%s: status %d, %s, the queries are %q, want %q for %s", command, r.code, r.stderr, queries, want, path)
		}
		mu.Unlock()
		if command == "zone list names" && !strings.Contains(r.stdout, "1000002") {
			t.Errorf("%s prints\n%s", command, r.stdout)
		}
	}
}
