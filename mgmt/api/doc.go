// Package api is the REST interface of the appliance: the paths, bodies and
// status codes of the product family, and Sluice's own resources beside them.
//
// The same handlers answer below two bases, /api/v4.0 and, for the clients the
// family has, /zapi/v4.0/zapi.cgi. A request passes
//
//	front   headers every answer has, OPTIONS, cross-site and path checks,
//	        who asks (mgmt/auth), panics
//	echo    path and verb to operation
//	call    the right the operation needs, query, body
//	handler what the operation does, one file per resource
//
// and ends in one place that writes JSON, pretty-printed with sorted keys. The
// table in routes.go is the only list of operations: routing, rights and the
// OpenAPI document (served at BASE/openapi.json and .yaml) all come from it.
// Bodies are decoded through the rule tables of mgmt/validate, which also give
// the document its request schemas; response schemas come from the handlers'
// types.
//
// Changes go to the one writer (mgmt/apply). Every answer carries the number
// of the configuration's revision as its ETag; a change with an If-Match that
// is not the current one is refused with 412. A change with an Idempotency-Key
// that is sent again is answered from memory.
package api
