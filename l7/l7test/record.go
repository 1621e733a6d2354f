package l7test

import (
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
)

// Record is a copy of an appliance's record of an exchange.
type Record struct {
	accesslog.Exchange
	Client, Method, Host, Path string
	ID                         string // request ID
	Agent, Referer             string
	Reason                     string // of a refusal or failure
	Header                     string // logged fields as name=value;
}

// Records reads an appliance's records.
type Records struct {
	Came []Record // records not yet taken by Next
	t    testing.TB
	r    *accesslog.Reader
}

// RecordsOf reads the appliance's records from now on.
func RecordsOf(t testing.TB, a *Appliance) *Records {
	return &Records{t: t, r: a.Records.Reader()}
}

// Drain reads the available records.
func (r *Records) Drain() {
	r.r.Drain(func(rec *accesslog.Record) {
		l := Record{
			Exchange: rec.Exchange, Client: rec.Client.Addr().String(), Method: string(rec.Method), Host: string(rec.Host), Path: string(rec.Path),
			ID: string(rec.RequestID), Agent: string(rec.Agent), Referer: string(rec.Referer), Reason: string(rec.Reason),
		}
		rec.Headers(func(name, value []byte) { l.Header += string(name) + "=" + string(value) + ";" })
		r.Came = append(r.Came, l)
	})
}

// Next waits for the next record.
func (r *Records) Next() Record {
	r.t.Helper()
	Eventually(r.t, "a record", func() bool { r.Drain(); return len(r.Came) > 0 })
	l := r.Came[0]
	r.Came = r.Came[1:]
	return l
}
