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

// donePath is the page to which browsers are redirected after the provider has
// authenticated the user. The session cookie is SameSite=Strict, so browsers omit it from
// requests started by another site, including the provider's redirects. Requests started by
// this page carry it. The page itself needs no cookie.
const donePath = "/done"

// place returns the caller's final destination, "" if none was sent.
func place(c *rest.Call) (string, error) {
	to := c.Request.URL.Query().Get("to")
	if to != "" && !oidc.Place(to) {
		return "", rest.BadRequest("to: it must be a path of this appliance, as /gui/")
	}
	return to, nil
}

// doneAt returns the address of that page, below the base path of the request.
func doneAt(r *http.Request, to string) string {
	at := strings.TrimSuffix(r.URL.Path, "/callback") + donePath
	if to != "" {
		at += "?" + url.Values{"to": {to}}.Encode()
	}
	return at
}

const (
	doneHead = "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Sluice</title>\n"
	// doneOn takes an address twice, doneHere once.
	doneOn   = `<meta http-equiv="refresh" content="0; url=%s"><p>You are logged in. <a href="%[1]s">Go on</a>`
	doneHere = `<p>You are logged in. This browser may use the API now: <a href="%s">who you are</a>`
)

// doneOIDC tells the user that the login succeeded, and continues to the destination.
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

// refusedPage takes the reason and the address for a new login.
const refusedPage = "<h1>You are not logged in</h1>\n<p>%s\n<p>The log of the appliance says more. <a href=\"%s\">Begin again</a>\n"

// refusedOIDC tells a browser user that the login failed, with the same message as for
// programs.
func refusedOIDC(c *rest.Call, r *rest.Rejection) []byte {
	base, _, _ := strings.Cut(c.Request.URL.Path, oidcPath)
	return fmt.Appendf(nil, doneHead+refusedPage, html.EscapeString(r.Message), html.EscapeString(base+oidcPath))
}
