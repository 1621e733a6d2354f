package people

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/oidc"
)

// donePath is the page browsers are sent to when the provider vouched for somebody. The
// cookie of a session does not go with requests another site began (SameSite=Strict),
// and the way back from the provider is one, with all its redirects. From this page on
// it does: so it stands between the provider and where people want to go, and needs no
// cookie itself.
const donePath = "/done"

// place is where the caller wants to go in the end, "" when that is not said.
func place(c *rest.Call) (string, error) {
	to := c.Request.URL.Query().Get("to")
	if to != "" && !oidc.Place(to) {
		return "", rest.BadRequest("to: it must be a path of this appliance, as /gui/")
	}
	return to, nil
}

// doneAt is the address of our page, below the base that was asked.
func doneAt(r *http.Request, to string) string {
	at := strings.TrimSuffix(r.URL.Path, "/callback") + donePath
	if to != "" {
		at += "?" + url.Values{"to": {to}}.Encode()
	}
	return at
}

const (
	doneHead = "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Sluice</title>\n"
	// doneOn takes an address twice, doneHere one.
	doneOn   = `<meta http-equiv="refresh" content="0; url=%s"><p>You are logged in. <a href="%[1]s">Go on</a>`
	doneHere = `<p>You are logged in. This browser may use the API now: <a href="%s">who you are</a>`
)

// doneOIDC tells somebody that they are logged in, and goes on where they wanted to.
func doneOIDC(c *rest.Call) ([]byte, error) {
	to, err := place(c)
	if err != nil {
		return nil, err
	}
	if to != "" {
		return fmt.Appendf(nil, doneHead+doneOn+"\n", html.EscapeString(to)), nil
	}
	base, _, _ := strings.Cut(c.Request.URL.Path, oidcPath)
	return fmt.Appendf(nil, doneHead+doneHere+"\n", html.EscapeString(base+"/system/users")), nil
}

// refusedPage takes what was refused, why, and where a log-in begins.
const refusedPage = "<h1>You are not logged in</h1>\n<p>%s\n<p>The log of the appliance says more. <a href=\"%s\">Begin again</a>\n"

// refusedOIDC tells somebody in a browser that the log-in failed, in the words everybody
// gets.
func refusedOIDC(c *rest.Call, r *rest.Rejection) []byte {
	base, _, _ := strings.Cut(c.Request.URL.Path, oidcPath)
	return fmt.Appendf(nil, doneHead+refusedPage, html.EscapeString(r.Message), html.EscapeString(base+oidcPath))
}
