// Package api implements the REST API of the appliance: the paths, bodies and status codes
// of Zevenet and SKUDONET ("the family"), and Sluice's own resources.
//
// The same handlers serve two base paths, /api/v4.0 and, for existing clients of the
// family, /zapi/v4.0/zapi.cgi. A request passes through
//
//	front   common response headers, OPTIONS, cross-site and path checks,
//	        the files of the GUI (mgmt/gui), authentication (mgmt/auth), panics
//	echo    routing by path and method
//	call    the permission of the operation, query, body (rest)
//	handler the operation, in the package of its resource
//
// and ends in one place that writes JSON, indented with sorted keys. The table in routes.go
// joins the operations of all resources and is the only list of them. Routing, permissions
// and the OpenAPI document (BASE/openapi.json and .yaml) derive from it. Bodies are decoded
// with the rule tables of mgmt/validate, which also provide the request schemas. Response
// schemas derive from the handlers' types.
//
// All changes go through the only writer (mgmt/apply). The ETag of every response is the
// revision of the configuration; that of a GET also contains a digest of the response. A
// change with If-Match is rejected with 412 unless one of its tags is one of these:
//
//   - the current revision
//   - a tag of the farm in its path, if the farm has not changed since
//   - the digest of the current response to a GET of its path or of a path above
//
// A GET whose If-None-Match has the digest returns 304. Objects stored beside the
// configuration have their own revisions (rest.Document). A repeated change with the same
// Idempotency-Key gets the first response from memory.
//
// # Packages
//
//	rest          the toolkit: operations, calls, responses, rejections, OpenAPI
//	state         the state of farms and backends, as in all responses
//	farms         farms, services, backends, rules, their certificates, explanations
//	checks        health checks and their results
//	traffic       sessions, connections, live exchanges
//	cloud         cloud credentials
//	numbers       statistics, series, graphs, the machine
//	people        users, groups, roles, keys, logins
//	certificates  certificates, authorities, ACME
//	revisions     the whole configuration, its history, the stream of changes
//	upkeep        backups, factory reset, support archives, scripts
//	timeline      all events on one axis
//	headroom      spare capacity of backends, and rehearsals of failures
//	findings      configuration without effect, or soon to fail
//	system        versions, settings, logs, audit, the kernel, the tree of names
//
// This package is the frame around them: front, base paths, and the distribution of Deps. A
// resource imports rest and state. It imports another resource only for an obvious reason,
// and without cycles.
//
// # Adding a resource
//
// Put it into the package whose purpose it fits, or create a new one below this folder.
// Declare its dependencies as small interfaces in its Deps. Write its operations as lines
// of rest.Op (Raw, File, Long, Stream) in a method that Operations() joins.
//
// Read the body with rest.Decode and a table of mgmt/validate, or with c.Object and a list
// of fields. Change the configuration with c.Change. Change anything else after c.Act(),
// which ends a dry run. Respond with rest.NewList, rest.Object or rest.NewDone, and reject
// with rest.BadRequest and similar functions.
//
// Objects stored beside the configuration, e.g. settings, are a rest.Document, and their
// operations are Of it, which provides ETag and If-Match. Lists support paging and filters
// automatically; a long one builds its items with rest.ListOf.
//
// In this package, a new resource needs a field in Deps and a line in resources
// (routes.go). Permissions are in mgmt/rbac. Then `go test ./mgmt/api -update` adds the
// operation to the golden files, where it must be reviewed.
package api
