package family

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
)

// What an older client reads of an object and sends back though nobody can set it.
// A client that decodes an answer into one type, changes a field and sends the whole
// sends the fields of all profiles, most of them empty.
var (
	// ours is what the family's own answers do not have, of any generation.
	ours = []string{"configured", "maintenance", "actual", "problem"}

	farmAnswer    = []string{"farmname", "profile", "status", "services", "certlist", "backends", "sessions", "ipds", "farmguardian"}
	serviceAnswer = []string{"id", "farmname", "status", "backends", "farmguardian", "fgenabled", "fgscript", "fgtimecheck", "fglog"}
	backendAnswer = []string{"id", "farmname", "servicename", "service", "status"}

	// tlsFields mean nothing while a farm speaks plain HTTP.
	tlsFields = []string{"ciphers", "cipherc", "disable_sslv2", "disable_sslv3", "disable_tlsv1", "disable_tlsv1_1", "disable_tlsv1_2"}
	// httpFields mean nothing for farms of other profiles.
	httpFields = append([]string{"listener", "contimeout", "restimeout", "resurrectime", "reqtimeout", "rewritelocation", "httpverb",
		"error414", "error500", "error501", "error503"}, tlsFields...)
	// inlineGuardian are the fields of a health check, which had an operation of its own.
	inlineGuardian = []string{"fgenabled", "fgscript", "fgtimecheck", "fglog"}
)

// maxBody bounds what is looked at: operations refuse more.
const maxBody = 1 << 20

// farmFields are the fields to leave out of a change of the farm of the path.
func (c *call) farmFields() []string {
	out := slices.Concat(farmAnswer, inlineGuardian)
	cfg, _ := c.config(c.r.Context())
	f := cfg.Farm(c.at[1])
	switch {
	case f == nil:
		return out
	case f.Carries() != farm.TrafficRequests:
		return append(out, httpFields...)
	}
	listener, _ := c.body()["listener"].(string)
	if listener == "https" || listener == "" && f.HTTPS() {
		return out
	}
	return append(out, tlsFields...)
}

// serviceFields are the fields to leave out of a change of a service.
func (c *call) serviceFields() []string {
	body := c.body()
	if body["redirecttype"] == "" && (body["redirect"] == nil || body["redirect"] == "") {
		return append([]string{"redirecttype"}, serviceAnswer...) // of no redirect
	}
	return serviceAnswer
}

// body is the body of the call, nil when it is no object; the operation says then what
// is wrong with it.
func (c *call) body() map[string]any {
	raw, err := io.ReadAll(io.LimitReader(c.r.Body, maxBody+1))
	c.r.Body = both{io.MultiReader(bytes.NewReader(raw), c.r.Body), c.r.Body}
	if err != nil || len(raw) > maxBody {
		return nil
	}
	return object(raw)
}

// both reads again what was read, and closes the body it came from.
type both struct {
	io.Reader
	io.Closer
}

// leaveOut takes fields out of the body. One that has none of them is passed on byte
// for byte: the operation sees what is odd about it.
func (c *call) leaveOut(names []string) {
	body := c.body()
	before := len(body)
	for _, name := range names {
		delete(body, name)
	}
	if len(body) != before {
		c.send(body)
	}
}

// send makes body the one of the call.
func (c *call) send(body map[string]any) {
	raw, _ := json.Marshal(body) // it was JSON
	c.r = withBody(c.r, raw)
}

func withBody(r *http.Request, raw []byte) *http.Request {
	out := r.Clone(r.Context())
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	out.Header.Set("Content-Length", strconv.Itoa(len(raw)))
	out.TransferEncoding = nil
	return out
}

// object reads JSON, nil for what is no object. Numbers stay as they were written.
func object(raw []byte) map[string]any {
	var out map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&out) != nil || d.More() {
		return nil
	}
	return out
}
