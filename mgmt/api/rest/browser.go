package rest

import (
	"mime"
	"strings"
)

// PageType is the content type of HTML pages.
const PageType = "text/html; charset=utf-8"

// Browses reports whether the client accepts HTML.
func (c *Call) Browses() bool {
	for kind := range strings.SplitSeq(strings.Join(c.Request.Header.Values("Accept"), ","), ",") {
		if kind, params, err := mime.ParseMediaType(kind); err == nil && kind == "text/html" && params["q"] != "0" {
			return true
		}
	}
	return false
}
