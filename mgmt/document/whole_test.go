package document_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// A document is written exactly as expected.
func TestDocumentMatchesTheExpectedText(t *testing.T) {
	h := farm.DefaultHTTP()
	h.TLS = farm.DefaultTLS()
	h.TLS.Certificates = nil
	h.Error503 = "<b>\nsorry"
	h.HeaderRules = farm.HeaderRules{AddRequest: []farm.HeaderAdd{{Header: "X-A: 1"}, {Header: "X-B: a\tb"}}, ReplaceRequest: []farm.HeaderReplace{{Header: "^A$", Match: "b", Replace: ""}}}
	h.Services = []farm.Service{
		{Name: "web", VHost: "shop", Rewrites: []farm.URLRewrite{{Pattern: "^/a", Replace: "/b", Last: true}},
			Backends: []farm.Backend{{Host: "10.0.0.1", Port: 80, Weight: 2}, {Host: "db.example", Port: 81, Of: 1}, {Host: "db.example", Port: 82, Maintenance: "cut"}}},
		{Name: "none"},
	}
	l := farm.DefaultL4()
	l.Ports, l.Backends = []farm.PortRange{{First: 80, Last: 81}}, []farm.Backend{{Host: "10.0.0.9", Slot: 1}}
	cfg := &farm.Config{Farms: []farm.Farm{
		{Name: "shop", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("::1"), VPort: 443, HTTP: h},
		{Name: "relay", Profile: farm.ProfileL4, VIP: netip.MustParseAddr("10.0.0.5"), L4: l, Stopped: true},
		{Name: "lost", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("10.0.0.5"), VPort: 1},
	}}
	yaml, err := document.Encode(cfg)
	if want := `farms:
  - name: shop
    profile: http
    vip: "::1"
    vport: 443
    listener: https
    certificates: []
    error503: |-
      <b>
      sorry
    addheader:
      - "X-A: 1"
      - "X-B: a\tb"
    replacerequestheader:
      - header: "^A$"
        match: b
        replace: ""
    services:
      - name: web
        vhost: shop
        rewriteurl:
          - pattern: "^/a"
            replace: /b
            last: true
        backends:
          - ip: 10.0.0.1
            port: 80
            weight: 2
          - ip: db.example
            port: 82
            maintenance: cut
      - name: none
  - name: relay
    profile: l4xnat
    vip: 10.0.0.5
    vport: "80:81"
    stopped: true
    backends:
      - ip: 10.0.0.9
  - name: lost
    profile: http
    vip: 10.0.0.5
    vport: 1
`; err != nil || string(yaml) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, yaml, want)
	}
	cfg.Farms = cfg.Farms[:1]
	h.Services = h.Services[:1]
	json, err := document.EncodeJSON(cfg)
	if want := `{
  "farms": [
    {
      "name": "shop",
      "profile": "http",
      "vip": "::1",
      "vport": 443,
      "listener": "https",
      "certificates": [],
      "error503": "<b>\nsorry",
      "addheader": [
        "X-A: 1",
        "X-B: a\tb"
      ],
      "replacerequestheader": [
        {
          "header": "^A$",
          "match": "b",
          "replace": ""
        }
      ],
      "services": [
        {
          "name": "web",
          "vhost": "shop",
          "rewriteurl": [
            {
              "pattern": "^/a",
              "replace": "/b",
              "last": true
            }
          ],
          "backends": [
            {
              "ip": "10.0.0.1",
              "port": 80,
              "weight": 2
            },
            {
              "ip": "db.example",
              "port": 82,
              "maintenance": "cut"
            }
          ]
        }
      ]
    }
  ]
}
`; err != nil || string(json) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, json, want)
	}
	empty, _ := document.Encode(&farm.Config{})
	emptyJSON, _ := document.EncodeJSON(&farm.Config{})
	if string(empty) != "farms: []\n" || string(emptyJSON) != "{\n  \"farms\": []\n}\n" {
		t.Errorf("no farm is %q and %q", empty, emptyJSON)
	}
}

// Problems have their exact position.
func TestPlacesOfProblemsAreExact(t *testing.T) {
	for text, want := range map[string]string{
		`{"farms":`:              `line 1, column 9: the JSON ends too early`,
		"{\n  \"farms\":":        `line 2, column 10: the JSON ends too early`,
		`{"farms": [1,`:          `line 1, column 13: the JSON ends too early`,
		`{"farms": []`:           `line 1, column 12: the JSON ends too early`,
		"{\"farms\": []}\n\n  x": "line 3, column 3: something follows the document",
		`{"farms": [{"name": "a", "profile": "http", "vip": "10.0.0.1", "vport": 1, "stopped": 7}]}`: `line 1, column 84: farm "a": stopped must be true or false, got "7"`,
		`{"farms": [true]}`:            `line 1, column 15: farm "number 1": must be an object with fields, got a single value`,
		`{"farms": [null]}`:            `line 1, column 15: farm "number 1": must be an object with fields, got null`,
		`{"farms": 1}`:                 `line 1, column 11: farms must be a list, got a single value`,
		"farms: []\nx: \"\xc3\x28\"\n": "line 2, column 5: the document is not valid UTF-8 text",
		"\xff":                         "line 1, column 1: the document is not valid UTF-8 text",
		"farms: []\nfarms: []\n":       "line 2, column 1: ",
		"farms: !a []\n":               "line 1, column 8: tags (!) are not supported; quote the text if it is none",
		"---\nfarms: []\n---\n":        "",
		"---\nfarms: []\n--- a\n":      "line 3, column 5: only one document in a file is possible, remove the --- line",
	} {
		_, err := document.Load([]byte(text), validate.Rules{})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want && (want != "line 2, column 1: " || len(got) < len(want) || got[:len(want)] != want) {
			t.Errorf("%q\ngot  %s\nwant %s", text, got, want)
		}
	}
}
