package api_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/api/farms"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// explainer is an engine that echoes the question, or fails.
func explainer(err *error) farms.Explainer {
	return func(_ context.Context, q explain.Question) (*explain.Explanation, error) {
		if err != nil && *err != nil {
			return nil, *err
		}
		return &explain.Explanation{From: q.From, SNI: q.SNI, Head: append([]string{q.Method, q.URL}, q.Headers...), AnswerHead: q.Answer, Generation: uint64(q.Farm),
			Result: explain.Result{Outcome: explain.Forward}}, nil
	}
}

func TestRequestsAreExplained(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	const path = "/farms/shop/explain"
	r := a.must(200, "POST", path, `{"url":"http://a.test/x","method":"PUT","headers":["X-A: 1","X-A: 2"],"from":"192.0.2.7","sni":"b.test"}`)
	r.want(t, "params.result.outcome", "forward")
	r.want(t, "params.from", "192.0.2.7")
	r.want(t, "params.sni", "b.test")
	r.want(t, "params.generation", 1)
	for i, want := range []string{"PUT", "http://a.test/x", "X-A: 1", "X-A: 2"} {
		r.want(t, fmt.Sprintf("params.head.%d", i), want)
	}
	a.must(200, "POST", path, `{"url":"/x","headers":"X-A: 1"}`).want(t, "params.head.2", "X-A: 1")
	a.must(200, "POST", path, `{"url":"/x","answer":["HTTP/1.1 404 Not Found","Server: x"]}`).want(t, "params.answer_head.1", "Server: x")
	for body, status := range map[string]int{
		`{"url":"/","answer":5}`: 400, `{"url":"/","answer":[""]}`: 400, `{"url":"/","answer":"` + strings.Repeat("x", explain.MaxQuestion) + `"}`: 400,
		`{}`: 400, `{"method":"GET"}`: 400, `{"url":""}`: 400, `{"url":5}`: 400, `{"url":"/","method":""}`: 400, `{"url":"/","from":"me"}`: 400, `{"url":"/","protocol":"tcp"}`: 400,
		`{"url":"/","headers":5}`: 400, `{"url":"/","headers":[5]}`: 400, `{"url":"/","headers":["X: 1",""]}`: 400, `{"url":"/","header":["X: 1"]}`: 400,
		`{"url":"/` + strings.Repeat("x", explain.MaxQuestion) + `"}`: 400,
	} {
		if r := a.do("POST", path, body); r.status != status {
			t.Errorf("%.60s: %d, want %d: %s", body, r.status, status, r.raw)
		}
	}
	a.must(404, "POST", "/farms/none/explain", `{"url":"/"}`)
}

func TestWhyARequestIsNotExplained(t *testing.T) {
	var failure error
	a := newAppliance(t, func(d *apitest.Parts) { d.Farms.Explain = explainer(&failure) })
	a.shop(1)
	const path = "/farms/shop/explain"
	for err, status := range map[error]int{
		fmt.Errorf("%w: no such thing", farms.ErrNotExplained): 400, apply.ErrUnavailable: 503, context.DeadlineExceeded: 503, errors.New("broken"): 500,
	} {
		failure = err
		if r := a.do("POST", path, `{"url":"/"}`); r.status != status || status == 400 && !strings.Contains(r.raw, "no such thing") {
			t.Errorf("%v: %d %s, want %d", err, r.status, r.raw, status)
		}
	}
	failure = nil
	a.engine.down = true
	if r := a.must(503, "POST", path, `{"url":"/"}`); !strings.Contains(r.raw, "engine is not running") {
		t.Errorf("got %s", r.raw)
	}
	a.engine.down = false
	a.must(200, "PUT", "/farms/shop/actions", `{"action":"stop"}`)
	if r := a.must(409, "POST", path, `{"url":"/"}`); !strings.Contains(r.raw, "is stopped") {
		t.Errorf("got %s", r.raw)
	}
}

func TestExplanationsAreDocumented(t *testing.T) {
	schemas := readDoc(t, newAppliance(t)).Components.Schemas
	for _, v := range []any{explain.Explanation{}, explain.Result{}, explain.Persistence{}, explain.Backend{}} {
		name := reflect.TypeOf(v).Name()
		found := false
		for schema, is := range schemas {
			properties, _ := is.(map[string]any)["properties"].(map[string]any)
			found = found || strings.Contains(schema, name) && len(properties) >= reflect.TypeOf(v).NumField()
		}
		if !found {
			t.Errorf("%s is not in the document", name)
		}
	}
}
