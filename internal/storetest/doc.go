// Package storetest is the suite every store passes, on every engine: the
// rulings about plans, leases, pages, records and the watermark, each as a
// claim by name, and the planted violations that the integrity check must
// report. Its own tests are the sweeps: a harvest that fails or dies at every
// point of the store in turn, and a log that is cut anywhere.
//
// It drives a store by its exported methods and looks at the tables by SQL of
// its own, so that a claim does not rest on the code it judges. Only tests
// import it.
package storetest
