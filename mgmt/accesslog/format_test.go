package accesslog

import (
	"encoding/json"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
)

func TestLineIsAnObjectOfTheDefaultFields(t *testing.T) {
	const want = `{"time":"2025-10-09T08:53:20.123456Z","farm":"shop","service":"web","backend":"10.0.0.1:80","client":"198.51.100.7",` +
		`"method":"GET","host":"www.example.org","path":"/shop/articles/4711?color=red&size=XL","protocol":"HTTP/1.1","status":200,` +
		`"bytes_in":70,"bytes_out":300,"connect_us":2,"response_us":2000,"total_us":2501,"request_id":"0123456789abcdef0123456789abcdef",` +
		`"flags":"reused","tls_version":"TLSv1.3","tls_cipher":"TLS_AES_128_GCM_SHA256",` +
		`"user_agent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36",` +
		`"referer":"https://www.example.org/shop/"}` + "\n"
	if got := formatted(&farm.AccessLog{}, nil); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestCombinedLineIsApaches(t *testing.T) {
	const want = `198.51.100.7 - - [09/Oct/2025:08:53:20 +0000] "GET /shop/articles/4711?color=red&size=XL HTTP/1.1" 200 300 ` +
		`"https://www.example.org/shop/" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36"`
	l := &farm.AccessLog{Format: farm.LogCombined}
	if got := formatted(l, nil); got != want+"\n" {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	l.Fields = []farm.LogField{farm.LogBackend, farm.LogTotal, farm.LogRejection, farm.LogFlags}
	if got := formatted(l, nil); got != want+` backend="10.0.0.1:80" total_us=2501 flags="reused"`+"\n" {
		t.Errorf("with fields: %s", got)
	}
	bad := formatted(&farm.AccessLog{Format: farm.LogCombined}, func(e *accesslog.Entry) {
		e.Begin() // a head that could not be read
		e.Farm, e.Status, e.BytesOut, e.Flags = 1, 400, 80, accesslog.Logged
	})
	if want := `- - - [01/Jan/1970:00:00:00 +0000] "-" 400 80 "-" "-"` + "\n"; bad != want {
		t.Errorf("got %swant %s", bad, want)
	}
}

func TestChosenFieldsKeepTheirOrderAndOmitEmptyOnes(t *testing.T) {
	l := &farm.AccessLog{Fields: []farm.LogField{farm.LogRejection, farm.LogQueue, farm.LogStatus, farm.LogTries, farm.LogClientPort, farm.LogFirstByte, farm.LogLoop}}
	if got := formatted(l, nil); got != `{"status":200,"tries":1,"client_port":40000,"first_byte_us":2100,"loop":0}`+"\n" {
		t.Errorf("got %s", got)
	}
	got := formatted(l, func(e *accesslog.Entry) { e.Rejection, e.Queue = 2, 5_000 })
	if want := `{"rejection":"timeout","queue_us":5,"status":200,"tries":1,"client_port":40000,"first_byte_us":2100,"loop":0}` + "\n"; got != want {
		t.Errorf("got %swant %s", got, want)
	}
	if got := formatted(&farm.AccessLog{Fields: []farm.LogField{farm.LogRejection}}, nil); got != "{}\n" {
		t.Errorf("got %s, want %s", got, "{}\n")
	}
}

func TestEveryFieldCanBeShownInEachFormat(t *testing.T) {
	for _, f := range farm.EveryLogField() {
		edit := func(e *accesslog.Entry) {
			e.Rejection, e.Queue, e.Why = 1, 1000, accesslog.WhySession
			e.Reason("because")
		}
		if !slices.Contains(farm.LogFields(), f) {
			edit = question("www.example.com.", 1, 0, "192.0.2.1:53")
		}
		if _, ok := fields[f]; !ok {
			t.Errorf("field %s has no formatter", f)
			continue
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(formatted(&farm.AccessLog{Fields: []farm.LogField{f}}, edit)), &object); err != nil || len(object) != 1 || object[string(f)] == nil {
			t.Errorf("%s: %v %v", f, object, err)
		}
		if got := formatted(&farm.AccessLog{Format: farm.LogCombined, Fields: []farm.LogField{f}}, edit); !strings.Contains(got, " "+string(f)+"=") {
			t.Errorf("%s: %s", f, got)
		}
	}
	if len(fields) != len(farm.EveryLogField()) {
		t.Errorf("%d fields have a formatter, %d can be selected", len(fields), len(farm.EveryLogField()))
	}
}

func TestChosenHeadersAreShownAndSecretsMasked(t *testing.T) {
	edit := func(e *accesslog.Entry) {
		e.Header("x-one", []byte(`1"`))
		e.Header("Authorization", []byte("Basic c2VjcmV0"))
		e.Header("cookie", []byte("sid=secret"))
	}
	l := &farm.AccessLog{Headers: []string{"X-One", "Authorization", "Cookie"}, Fields: []farm.LogField{farm.LogStatus}}
	if got := formatted(l, edit); got != `{"status":200,"headers":{"x-one":"1\"","Authorization":"***","cookie":"***"}}`+"\n" {
		t.Errorf("got %s", got)
	}
	l.Redact = []string{"X-ONE"}
	if got := formatted(l, edit); !strings.Contains(got, `"x-one":"***"`) || !strings.Contains(got, `"cookie":"sid=secret"`) {
		t.Errorf("the operator's list does not count: %s", got)
	}
	l = &farm.AccessLog{Format: farm.LogCombined, Headers: []string{"X-One"}}
	if got := formatted(l, edit); !strings.HasSuffix(got, ` x-one="1\"" Authorization="***" cookie="***"`+"\n") {
		t.Errorf("got %s", got)
	}
	if got := formatted(&farm.AccessLog{}, edit); strings.Contains(got, "headers") {
		t.Errorf("headers are logged though none was selected: %s", got)
	}
}

// A reader of the log must not get a credential, independently of the fields that an
// operator selected.
func TestKeysOfServicesAreMasked(t *testing.T) {
	cfg := config(nil)
	cfg.Farms[0].HTTP.Services[0].Auth = &farm.Auth{Header: "X-One"}
	cfg.Farms[0].HTTP.AccessLog = farm.AccessLog{Headers: []string{"X-One", "X-Two"}, Redact: []string{"other"}}
	b := newBook(cfg, nil, newClock(), func(*farm.Farm) *sink { return nil })
	for name, want := range map[string]bool{"x-one": true, "X-ONE": true, "x-two": false, "other": true} {
		if got := b.farms[1].format.redact.has([]byte(name)); got != want {
			t.Errorf("%s is masked: got %v, want %v", name, got, want)
		}
		if got := watchFormat(cfg, newClock()).redact.has([]byte(name)); got != want {
			t.Errorf("%s is masked for watchers: got %v, want %v", name, got, want)
		}
	}
}

func TestSecretsInPathsAndReferersAreMasked(t *testing.T) {
	for path, want := range map[string]string{
		"/":                         "/",
		"/a?b=c":                    "/a?b=c",
		"/a?token=x":                "/a?token=***",
		"/a?b=1&TOKEN=x&c=2":        "/a?b=1&TOKEN=***&c=2",
		"/a?to%6ben=x;c=2":          "/a?to%6ben=***;c=2",
		"/a?token=x&token=y":        "/a?token=***&token=***",
		"/a?user[password]=x":       "/a?user[password]=***",
		"/a?session%5Bid%5D=x":      "/a?session%5Bid%5D=***",
		"/a?token=":                 "/a?token=***",
		"/a?token":                  "/a?token",
		"/a?mytoken=x":              "/a?mytoken=x",
		"/a;jsessionid=x/b;v=1?c=2": "/a;jsessionid=***/b;v=1?c=2",
		"/a?redirect=/x?token=y":    "/a?redirect=/x?token=***",
		"/token=x":                  "/token=x",
		"/a?key=" + strings.Repeat("k=", 50) + "&b=1": "/a?key=***&b=1",
	} {
		got := formatted(&farm.AccessLog{Fields: []farm.LogField{farm.LogPath}}, func(e *accesslog.Entry) {
			e.Begin()
			e.Farm, e.Flags = 1, accesslog.Logged
			e.Path([]byte(path))
		})
		if got != `{"path":"`+want+`"}`+"\n" {
			t.Errorf("%s is shown as %s", path, got)
		}
	}
	for referer, want := range map[string]string{
		"https://user:pass@host/a?token=x#f": "https://***@host/a?token=***#f",
		"https://host/a@b?c=d":               "https://host/a@b?c=d",
		"//u@h":                              "//***@h",
		"mailto:a@b":                         "mailto:a@b",
	} {
		got := formatted(&farm.AccessLog{Fields: []farm.LogField{farm.LogReferer}}, func(e *accesslog.Entry) {
			e.Begin()
			e.Farm = 1
			e.Referer([]byte(referer))
		})
		if got != `{"referer":"`+want+`"}`+"\n" {
			t.Errorf("%s is shown as %s", referer, got)
		}
	}
}

func TestDeletedObjectsAreShownByID(t *testing.T) {
	got := formatted(&farm.AccessLog{Fields: []farm.LogField{farm.LogService, farm.LogBackend, farm.LogRejection}}, func(e *accesslog.Entry) {
		e.Service, e.Backend, e.Rejection = 1000, 1001, 77
	})
	if got != `{"service":"#1000","backend":"#1001","rejection":"#77"}`+"\n" {
		t.Errorf("got %s", got)
	}
}

func TestPlainFindsTheFirstByteToEscape(t *testing.T) {
	for c := range 256 {
		want := c >= 0x20 && c < 0x7f && c != '"' && c != '\\'
		for at := range 20 {
			b := []byte(strings.Repeat("a~ !#[]", 3))[:20]
			b[at] = byte(c)
			b = append(b, 0x80, 0xff, 0, '"') // the bytes after it must not matter
			n := plain(b)
			if want && n != 20 || !want && n != at {
				t.Fatalf("byte %#x at %d: %d", c, at, n)
			}
		}
	}
}

var combinedLine = regexp.MustCompile(`^[0-9a-f.:]+ - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000\] "(?:[^"\\]|\\.)*" \d+ \d+ "(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*" request_id="(?:[^"\\]|\\.)*"$`)

// FuzzLine formats texts of arbitrary bytes. Each record must be one line of printable ASCII
// with its fields in their places, and the JSON object must contain the texts of the client.
func FuzzLine(f *testing.F) {
	f.Add("GET", "/a?b=c", "agent", "referer", "id")
	f.Add("\"\n", "/\r\n{\"status\":200}", "\x1b[31m\\", "\xff\xfe\u2028\U0001f600", "a\x00")
	f.Add("\\", "\\\"", strings.Repeat("\\", 7), "%00\"", "\x7f")
	f.Fuzz(func(t *testing.T, method, path, agent, referer, id string) {
		edit := func(e *accesslog.Entry) {
			e.Begin()
			e.Farm, e.Status = 1, 200
			e.Client(netip.MustParseAddrPort("192.0.2.1:1"))
			e.Method([]byte(method))
			e.Path([]byte(path))
			e.RequestID([]byte(id))
			e.Agent([]byte(agent))
			e.Referer([]byte(referer))
		}
		object := formatted(&farm.AccessLog{Redact: []string{"nothing"}}, edit)
		combined := formatted(&farm.AccessLog{Format: farm.LogCombined, Fields: []farm.LogField{farm.LogRequestID}}, edit)
		for _, line := range []string{object, combined} {
			for i, c := range []byte(line) {
				if c < 0x20 && i != len(line)-1 || c > 0x7e || i == len(line)-1 && c != '\n' {
					t.Fatalf("byte %#x at %d of %q", c, i, line)
				}
			}
		}
		if id != "" && method != "" && !combinedLine.MatchString(strings.TrimSuffix(combined, "\n")) {
			t.Errorf("not the form of a combined line: %s", combined)
		}
		var back struct {
			Method, Path string
			Agent        string `json:"user_agent"`
			Status       int
		}
		d := json.NewDecoder(strings.NewReader(object))
		if err := d.Decode(&back); err != nil || d.More() {
			t.Fatalf("%v: %s", err, object)
		}
		if back.Status != 200 {
			t.Errorf("the status is %d in %s", back.Status, object)
		}
		for got, sent := range map[string]string{
			back.Method: method[:min(len(method), accesslog.MaxMethod)], back.Path: path[:min(len(path), accesslog.MaxPath)],
			back.Agent: agent[:min(len(agent), accesslog.MaxAgent)],
		} {
			if utf8.ValidString(sent) && got != sent {
				t.Errorf("%q was decoded as %q", sent, got)
			}
		}
	})
}

// FuzzRedact checks that the values of secrets are removed and everything else remains.
func FuzzRedact(f *testing.F) {
	f.Add("/a;jsessionid=1/b?token=x&c=d", "s3cr3t")
	f.Add("/?&&;;==?token", "x")
	f.Fuzz(func(t *testing.T, path, secret string) {
		if len(path) > 500 || len(secret) > 100 || strings.ContainsAny(secret, "&;#") || len(secret) < 4 ||
			strings.Contains(path+"?a=b&Token=***&z=1", secret) {
			return
		}
		r := newRedaction(farm.DefaultRedact())
		out := string(r.target([]byte(path + "?a=b&Token=" + secret + "&z=1")))
		if strings.Contains(out, secret) {
			t.Errorf("%q is still in %q", secret, out)
		}
		if !strings.HasSuffix(out, "&z=1") {
			t.Errorf("the rest of the query is missing: %q", out)
		}
	})
}
