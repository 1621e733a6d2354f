package rest

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/apply"
)

// sent returns the client's view of a response: status, body and the given headers.
func sent(w *httptest.ResponseRecorder, headers ...string) string {
	body, _ := io.ReadAll(w.Body)
	text := fmt.Sprintf("%d %q", w.Code, body)
	for _, name := range headers {
		text += fmt.Sprintf(" %s=%v", name, w.Header()[http.CanonicalHeaderKey(name)])
	}
	return text
}

func TestAnswersHaveTheirStatusHeadersAndBody(t *testing.T) {
	until := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	created := &Operation{success: http.StatusCreated}
	plain := &Call{op: created}
	all := &Call{op: created, etag: `"7"`, ContentType: "text/csv", Cookie: "a=b", disposition: "attachment", pending: &apply.Pending{Until: until}}
	w := func(write func(http.ResponseWriter, *http.Request)) *httptest.ResponseRecorder {
		r := httptest.NewRecorder()
		write(r, httptest.NewRequest(http.MethodPost, "/", nil))
		return r
	}
	refusal := func(send func(http.ResponseWriter)) *httptest.ResponseRecorder {
		r := httptest.NewRecorder()
		send(r)
		return r
	}
	for name, c := range map[string]struct{ got, want string }{
		"JSON":         {sent(w(outputOf(plain, map[string]int{"b": 1, "a": 2}).write), "Content-Type", "ETag", "Location"), `201 "{\n  \"a\": 2,\n  \"b\": 1\n}\n" Content-Type=[application/json] ETag=[] Location=[]`},
		"a file":       {sent(w(outputOf(all, []byte("1,2")).write), "Content-Type", "ETag", "Content-Disposition", "Set-Cookie", "Confirm-Before"), `201 "1,2" Content-Type=[text/csv] ETag=["7"] Content-Disposition=[attachment] Set-Cookie=[a=b] Confirm-Before=[2026-01-02T03:04:05Z]`},
		"elsewhere":    {sent(w(outputOf(&Call{op: created, Location: "/there"}, []byte(nil)).write), "Location"), `303 "" Location=[/there]`},
		"a stream":     {sent(w(outputOf(all, Streamed(func(w http.ResponseWriter) { _, _ = io.WriteString(w, "tick") })).write), "ETag"), `200 "tick" ETag=["7"]`},
		"a rejection":  {sent(refusal((&Rejection{Status: 429, Description: "d", Message: "m", Header: http.Header{"Retry-After": {"9"}}}).Send), "Retry-After", "Content-Type"), `429 "{\n  \"description\": \"d\",\n  \"error\": \"true\",\n  \"message\": \"m\"\n}\n" Retry-After=[9] Content-Type=[application/json]`},
		"one that was": {sent(w(outputOf(plain, asWritten("[1]")).write), "Content-Type"), `201 "[1]" Content-Type=[application/json]`},
	} {
		if c.got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, c.got, c.want)
		}
	}
}

// asWritten is a list that is already encoded.
type asWritten string

func (w asWritten) written() []byte { return []byte(w) }

func TestWhatCannotBeWrittenIsNotBegun(t *testing.T) {
	w := httptest.NewRecorder()
	defer func() {
		if recover() == nil || len(w.Header()) != 0 || w.Body.Len() != 0 {
			t.Errorf("answered %s", sent(w))
		}
	}()
	WriteJSON(w, http.StatusOK, math.NaN())
}
