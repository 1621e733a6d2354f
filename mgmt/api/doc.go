// Package api is the REST interface of the appliance: the paths, bodies and
// status codes of the product family, and Sluice's own resources beside them.
//
// The same handlers answer below two bases, /api/v4.0 and, for the clients the
// family has, /zapi/v4.0/zapi.cgi. A request passes
//
//	front   headers every answer has, OPTIONS, cross-site and path checks,
//	        the files of the GUI (mgmt/gui), who asks (mgmt/auth), panics
//	echo    path and verb to operation
//	call    the right the operation needs, query, body (rest)
//	handler what the operation does, in the package of its resource
//
// and ends in one place that writes JSON, pretty-printed with sorted keys. The
// table in routes.go joins what the resources can do, and is the only list of
// operations: routing, rights and the OpenAPI document (served at
// BASE/openapi.json and .yaml) all come from it.
// Bodies are decoded through the rule tables of mgmt/validate, which also give
// the document its request schemas; response schemas come from the handlers'
// types.
//
// Changes go to the one writer (mgmt/apply). Every answer carries the number
// of the configuration's revision as its ETag, and that of a GET a digest of
// the answer, too. A change with If-Match is refused with 412 unless one of its
// tags is the current revision, a tag of the farm in its path since which the
// farm has not changed, or the digest of what a GET of its path or of a path
// above returns now. A GET
// with the digest as If-None-Match returns 304. What is kept beside the
// configuration has revisions of its own (rest.Document). A change with an
// Idempotency-Key that is sent again is answered from memory.
//
// # Packages
//
//	rest          the kit: operations, calls, answers, rejections, the document
//	state         how farms and backends are, as all answers tell it
//	farms         farms, services, backends, rules, their certificates, explanations
//	checks        health checks, what they found
//	traffic       sessions, connections, exchanges as they end
//	cloud         credentials of a cloud
//	numbers       statistics, series, graphs, the machine
//	people        users, groups, roles, keys, log-ins
//	certificates  certificates, authorities, ACME
//	revisions     the configuration as a whole, its history, what changes
//	upkeep        backups, factory reset, what support needs, scripts
//	timeline      everything that happened, on one axis
//	headroom      how much more backends can take, and who takes over from some
//	findings      what of the configuration is there for nothing, or will fail soon
//	system        versions, settings, logs, audit, the kernel, names of everything
//
// This package is what is around them: front, bases, and who gets what of Deps.
// A resource imports the kit and state, and another resource only where the
// reason is plain and points one way.
//
// # How to add a resource
//
// Put it into the package whose sentence it fits, else make one below this
// folder. There, declare what it needs as small interfaces in its Deps; write
// its operations as lines of rest.Op (Raw, File, Long, Stream) in a method that
// Operations() joins; read the body with rest.Decode through a table of
// mgmt/validate, or with c.Object through a list of fields; change the
// configuration with c.Change, and anything else after c.Act(), which ends a
// call that is only tried; answer with rest.NewList, rest.Object or rest.NewDone,
// and refuse with rest.BadRequest and its kin. Settings and the like that are
// kept beside the configuration are a rest.Document, and their operations are
// Of it: that gives them ETag and If-Match. Lists can be had in parts and by
// field by themselves; a long one makes its items with rest.ListOf. In this package a new one needs a
// field in Deps and its line in resources (routes.go). Permissions are in
// mgmt/rbac. Then `go test ./mgmt/api -update` writes the operation into the
// golden files, where it is to be read.
package api
