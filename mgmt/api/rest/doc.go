// Package rest is the toolkit for all API resources, and depends on none of them. An
// Operation is one entry of the table from which routing, permissions and the OpenAPI
// document derive:
//
//	rest.Op(rest.Get, "/farms", rbac.Open, "List farms", s.listFarms)
//	rest.Op(rest.Post, "/farms", rbac.FarmCreate, "Create a farm", s.createFarm).Body(newFarmFields{}).Created()
//
// The handler gets a Call: the caller, the configuration, path and query parameters, the body
// (Decode, Object, Texts), and the only writer (Change). Its result is encoded as JSON.
// Errors become a Rejection; unknown errors become an internal fault. Before the handler
// runs, the kit checks the permission and the visibility of the farm in the path, and rejects
// unknown query parameters. A dry run (dry_run) ends at its first effect: in Change or at
// Act.
//
// File, Raw, Long and Stream are for responses other than JSON.
package rest
