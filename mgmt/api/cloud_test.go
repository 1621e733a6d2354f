package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/cloud"
)

// turner seals by reversing bytes.
type turner struct{}

func (turner) SealSecret(_ string, b []byte) ([]byte, error) {
	out := []byte{}
	for i := range b {
		out = append(out, b[len(b)-1-i])
	}
	return out, nil
}
func (t turner) OpenSecret(purpose string, b []byte) ([]byte, error) { return t.SealSecret(purpose, b) }

func TestCredentialsOfACloudAreCheckedAndNeverAnswered(t *testing.T) {
	status, body := 200, `<R><GetCallerIdentityResult><Arn>arn:x</Arn><Account>42</Account></GetCallerIdentityResult></R>`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	kept := &cloud.Manager{}
	a := newAppliance(t, func(d *apitest.Parts) {
		kept = cloud.New(cloud.Options{Store: d.History.(cloud.Keeper), Secrets: turner{}, AWS: func(string) string { return s.URL }, Azure: s.URL})
		d.Cloud.Accounts = kept
	})
	const path, login = "/cloud/credentials", `{"provider":"aws","access_key":"AKIDEXAMPLE000000","secret_key":"s3cret-of-all","region":"eu-west-1"}`
	a.must(200, "GET", path, "").want(t, "params.status", "none")
	a.must(200, "POST", path+"?dry_run=true", login)
	a.must(200, "GET", path, "").want(t, "params.status", "none")
	r := a.must(200, "POST", path, login)
	r.want(t, "params.account", "42")
	got := a.must(200, "GET", path, "")
	got.want(t, "params.status", "valid")
	got.want(t, "params.region", "eu-west-1")
	for _, answer := range []reply{r, got} {
		if strings.Contains(answer.raw, "s3cret") {
			t.Errorf("the secret is answered: %s", answer.raw)
		}
	}
	for says, wrong := range map[string]string{
		"provider is required": `{"region":"eu-west-1"}`, "password is of another provider": `{"provider":"aws","password":"x"}`, "access_key is of another provider": `{"provider":"azure","access_key":"x"}`,
		"provider must be one of": `{"provider":"gcp"}`, "region must be": `{"provider":"aws","access_key":"AKIDEXAMPLE000000","secret_key":"a","region":"x"}`,
	} {
		a.do("POST", path, wrong).refused(t, 400, says)
	}
	status = 403
	a.do("GET", path, "").refused(t, 400, "the cloud refuses the credentials")
	a.do("POST", path, login).refused(t, 400, "logged out")
	a.must(200, "GET", path, "").want(t, "params.status", "none")
	status = 200
	a.must(200, "POST", path, login)
	a.must(200, "DELETE", path+"?dry_run=true", "")
	a.must(200, "GET", path, "").want(t, "params.status", "valid")
	a.must(200, "DELETE", path, "")
	a.must(200, "GET", path, "").want(t, "params.status", "none")
}
