// Package family serves clients written for Zevenet and SKUDONET ("the family"), including
// older generations of their API. It translates their requests into the current API and its
// responses back. The rest of the API is unaware of older generations.
//
// A request to a base path of the family passes through Lead, which maps it to the newest
// base path, and Over, which wraps the operations:
//
//	Lead       the generation; former paths of login and logout
//	request    removes fields that are not settable from objects that clients send back as read
//	guardian   before 3.2, the health check of a service belonged to the farm
//	inline     its fields were inline; a dedicated check stores them now
//	account    the users zapi and root had their own paths
//	answer     fields and words for older clients
//	notfound   the wording by which clients recognise a missing object
//
// Generation 3 ignored unknown fields. This package removes only the fields that generation
// 3 returned, of any profile; misspelt fields are rejected as in the current API.
package family
