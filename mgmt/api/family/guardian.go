package family

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// guardianOf is a health check as it was before 3.2: fields of what it watches. None is
// kept as long as there are no health checks of their own: backends are watched by
// connects and answers.
func guardianOf(name string) map[string]any {
	enabled := "false"
	if name != "" {
		enabled = "true"
	}
	return map[string]any{"fgenabled": enabled, "fgtimecheck": 5, "fgscript": "", "fglog": "false"}
}

// guardian answers a change of a health check. To have none is what there is; a client
// that changes a service sends that along each time. One that shall run is refused.
func (c *call) guardian() {
	body := c.body()
	asked := maps.Clone(body)
	delete(asked, "service")
	if err := c.mayGuard(); err != nil {
		c.refuse(err)
		return
	}
	of := c.get(Base + "/farms/" + c.at[1])
	if of == nil {
		c.refuse(rest.NotFound("the farm %s does not exist", rest.Quote(c.at[1])))
		return
	}
	if err := guarded(of, body["service"]); err != nil {
		c.refuse(err)
		return
	}
	if err := checkGuardian(body, asked); err != nil {
		c.refuse(err)
		return
	}
	c.reply(http.StatusOK, map[string]any{
		"description": "Modify farm guardian", "params": guardianOf(""), "success": "true",
		"message": "The farm guardian of farm " + c.at[1] + " is disabled.",
		"warning": "fgscript, fgtimecheck and fglog are not kept: there are no health checks by commands yet, and none runs",
	})
}

func (c *call) mayGuard() *rest.Rejection {
	if !rest.Asker(c.r.Context()).May(rbac.FarmModify) {
		return rest.Refuse(http.StatusForbidden, "you may not do this: the permission %q is needed", rbac.FarmModify)
	}
	return nil
}

// guarded refuses a health check of what a farm has not.
func guarded(of map[string]any, service any) *rest.Rejection {
	name, _ := service.(string)
	if _, own := of["backends"]; own { // not of services
		if name != "" {
			return rest.BadRequest("service: an l4xnat farm has none")
		}
		return nil
	}
	for _, s := range list(of["services"]) {
		if s["id"] == service {
			return nil
		}
	}
	return rest.NotFound("the service %s does not exist: the field service names one of the farm", rest.Quote(name))
}

// checkGuardian refuses fields of a health check that are wrong.
func checkGuardian(body, asked map[string]any) *rest.Rejection {
	if body == nil {
		return rest.BadRequest("the body must be a JSON object")
	}
	for name, value := range asked {
		text, isText := value.(string)
		switch name {
		case "fgenabled", "fglog":
			if text != "true" && text != "false" {
				return rest.BadRequest("%s: allowed are \"true\" and \"false\"", name)
			}
		case "fgtimecheck":
			if n, is := value.(json.Number); is {
				text, isText = n.String(), true
			}
			if !isText || !natural(text) {
				return rest.BadRequest("fgtimecheck: allowed are whole seconds from 1 on")
			}
		case "fgscript":
			if text == "" {
				return rest.BadRequest("fgscript: it must not be blank")
			}
		default:
			return rest.BadRequest("unknown field %s: allowed are service, fgenabled, fgtimecheck, fgscript and fglog", rest.Quote(name))
		}
	}
	if asked["fgenabled"] == "true" {
		return rest.BadRequest("fgenabled: \"true\" is not possible: there are no health checks by commands yet; backends that cannot be connected to are left out without one")
	}
	if len(asked) == 0 {
		return rest.BadRequest("No parameter has been sent: allowed are fgenabled, fgtimecheck, fgscript and fglog")
	}
	return nil
}

// natural reports whether a text is a whole number above 0.
func natural(text string) bool {
	some := false
	for _, digit := range text {
		if digit < '0' || digit > '9' {
			return false
		}
		some = some || digit != '0'
	}
	return some && len(text) < 10
}

// refuse answers with a rejection.
func (c *call) refuse(err *rest.Rejection) {
	if err.Description == "" {
		err.Description = c.r.Method + " " + rest.QuotePath(c.r.URL.Path)
	}
	rest.NoteOf(c.r.Context()).Message = err.Message
	var out bytes.Buffer
	if rest.EncodeTo(&out, err.Body()) != nil {
		out.Reset()
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(err.Status)
	c.w.Write(out.Bytes())
}
