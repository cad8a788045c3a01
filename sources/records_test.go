package sources_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// What the recorded replies say, read by eye. A line is "field = value", or
// "field ~ beginning of the value". Fields are those of the record, with dots
// into lists and objects; # counts; authors.N is "family, given" or the name;
// a dash says that there is no such field. Besides: status, updated (a day for
// PubMed), version and problem.
type recording struct {
	file string
	id   string
	want string
}

var pubmedRecords = []recording{
	{"efetch/20412080_2024.xml", "20412080", `
		title = The human phenotype ontology.
		authors# = 2
		authors.0 = Robinson, P N
		authors.1 = Mundlos, S
		journal = Clinical genetics
		journal_abbrev = Clin Genet
		issn = 1399-0004 | 0009-9163
		references_count = -
		volume = 77
		issue = 6
		pages = 525-34
		published = 2010-06
		type = Journal Article
		language = eng
		doi = 10.1111/j.1399-0004.2010.01436.x
		pmid = 20412080
		other_ids.pii = CGE1436
		other_ids.issn_l = 0009-9163
		mesh# = 7
		mesh.1.term = Computational Biology
		mesh.1.qualifiers = methods
		mesh.1.major = false
		mesh.5.term = Phenotype
		mesh.5.major = true
		abstract ~ A standardized, controlled vocabulary allows phenotypic information to
		updated = 2010-06-23
		version = 1
		status = ACTIVE`},
	{"efetch/22351513_2024.xml", "22351513", `
		title = Variation in oil content and fatty acid composition of the seed oil of Acacia species collected from the northwest zone of India.
		abstract.0 ~ BACKGROUND: The oil content and fatty acid composition of the mature seeds of Acac
		abstract.1 ~ RESULTS: Oil content varied between 40 and 102 g kg⁻¹. The highest oil content
		abstract.2 ~ CONCLUSION: The present study revealed
		published = 2012-08-30
		mesh.0.qualifiers = chemistry | growth & development
		updated = 2013-11-21`},
	{"efetch/23121403_2024.xml", "23121403", `
		title = Low-dose aspirin for preventing recurrent venous thromboembolism.
		authors# = 13
		authors.0 = Brighton, Timothy A
		authors.0.affiliations# = 1
		authors.12 = ASPIRE Investigators
		authors.12.family = -
		doi = 10.1056/nejmoa1210384
		published = 2012-11-22
		abstract# = 4
		abstract.3 ~ CONCLUSIONS: In this study, aspirin, as compared with placebo
		updated = 2022-04-09`},
	{"efetch/27797938_structured_comment_in.xml", "27797938", `
		title = Leucocyte telomere length, genetic variants at the TERT gene region and risk of pancreatic cancer.
		authors# = 22
		pmcid = PMC5442267
		other_ids.mid = NIHMS857349
		other_ids.pii = gutjnl-2016-312510
		published = 2017-06
		pages = 1116-1122
		keywords = PANCREATIC CANCER
		retracted_by = -
		status = ACTIVE`},
	{"efetch/30108519_mathml.xml", "30108519", `
		title = A "Blood Relationship" Between the Overlooked Minimum Lactate Equivalent and Maximal Lactate Steady State in Trained Runners. Back to the Old Days?
		abstract ~ Maximal Lactate Steady State (MLSS) and Lactate Threshold (LT) are physiologically-related
		issue = -
		pages = 1034
		published = 2018
		keywords# = 8
		mesh = -
		updated = 2018-08-17`},
	{"efetch/book_20301295_genereviews.xml", "20301295", `
		title = GeneReviews™
		publisher = University of Washington, Seattle
		published = 1993
		language = eng
		pmid = 20301295
		other_ids.bookaccession = NBK1116
		authors = -
		references_count = -
		abstract ~ GeneReviews are expert-authored, peer-reviewed disease descriptions
		journal = -
		updated = 2010-03-20`},
	{"efetch/contrived_all_elements.xml", "17284678", `
		title = Sequencing and analysis of chromosome 1 of Eimeria tenella reveals a unique segmental organization.
		doi = 10.1101/gr.5823007
		problem = bad_date`}, // neither DateRevised nor an entrez date
	{"efetch/dspace_seven_labels_2023.xml", "36708638", `
		abstract# = 8
		abstract.0 ~ AIM/OBJECTIVE: To report and synthesize
		abstract.7 = An abstract section with no attributes at all, concerning.
		pages = 103548
		mesh.1.term = Advanced Practice Nursing
		mesh.1.major = true
		updated = 2023-02-23`},
	{"efetch/extract_collective_authors.xml", "11237011", `
		title = Initial sequencing and analysis of the human genome.
		authors# = 257
		authors.0 = Lander, E S
		published = 2001-02-15
		doi = 10.1038/35057062
		updated = 2016-10-25`},
	{"efetch/extract_collective_authors.xml", "11428848", `
		authors# = 8
		authors.0 = Hauer, R N
		authors.7 = European Society of Cardiology. Working Group on Arrhythmias and Working Group on Cardiac Pacing
		abstract = -
		type = Guideline`},
	{"efetch/extract_collective_authors.xml", "11441930", `
		authors# = 4
		authors.3 = SBU-group. Swedish Council of Technology Assessment in Health Care
		issue = 2-3
		doi = -
		published = 2001`},
	{"efetch/extract_no_authors.xml", "1669026", `
		title = [150th Anniversary Celebration of the Royal Academy of Medicine of Belgium. Part 1. Bruxelles, 26-28 September 1991].
		authors = -
		volume = Anniv No Pt 1
		language = fre
		type = Congress`},
	{"efetch/extract_no_authors.xml", "10078868", `
		title = Bibliography of toxinology.
		authors = -
		published = 1999-02
		pages = 399-404`},
	{"efetch/extract_retracted_publications.xml", "8655018", `
		title = [Effect of fetal and neonatal growth on the occurrence of some diseases in adults].
		authors.0.affiliations = Katedry i Zakładu Chemii i Analizy Leków, AM w Katowicach.
		type = English Abstract
		language = pol
		retracted_by = 9867474
		retracts = -
		status = RETRACTED`},
	{"efetch/extract_retracted_publications.xml", "8863847", `
		retracted_by = 9499167
		published = 1996-10
		status = RETRACTED`},
	{"efetch/extract_retraction_notices.xml", "9634358", `
		title = Retraction: A rabbit model for human cytomeglovirus--induced chorioretinal disease (J Infect Dis 1993;168:336-44).
		retracts = 8393056
		retracted_by = -
		type = Retraction of Publication
		status = ACTIVE`},
	{"efetch/extract_retraction_notices.xml", "11600210", `
		title = Editorial. Anthropology and genetic markers.
		retracts = 11543891
		other_ids.pii = S0198885901003500
		updated = 2001-10-15
		status = ACTIVE`},
	{"efetch/extract_vernacular_and_other_abstract.xml", "5757641", `
		title = [The effect of immediate stimulation of the hippocampus on reflex reactions in animals].
		issn = -
		language = geo
		published = 1968`},
	{"efetch/extract_vernacular_and_other_abstract.xml", "11243089", `
		title = Nutritional status of pavement dweller children of Calcutta City.
		keywords# = 26
		abstract ~ Pavement dwelling is likely to aggravate malnutrition among its reside
		updated = 2006-11-15`},
	{"efetch/jabref_mathml.xml", "32759406", `
		title = CellML 2.0.
		abstract ~ Following are examples of MathML elements:
		authors.0.orcid = 0000-0003-4062-3061
		pages = -
		other_ids.pii = jib-2020-0021
		published = 2020-07-24`},
	{"efetch/list_of_pmids_2019.xml", "211", `
		title = Effects of maleate on renal reabsorption of bicarbonate.
		authors# = 5
		published = 1975
		doi = -
		updated = 2019-02-06`},
	{"efetch/list_of_pmids_2019.xml", "960", `
		published = 1975-12
		other_ids.pii = 0003-9861(75)90053-3
		mesh# = 15`},
	{"efetch/metapub_11618220.xml", "11618220", `
		journal = T'ung pao. T'oung pao
		doi = 10.1163/156853287x00032
		published = 1987
		pages = 217-64`},
	{"efetch/metapub_219391.xml", "219391", `
		title = The fine structure of blood cells in ceroid-lipofuscinosis (Spielmeyer-Vogt's disease).
		type = Case Reports
		published = 1979-02`},
	{"efetch/metapub_32934823.xml", "32934823", `
		pmcid = PMC7489288
		doi = 10.15761/jsin.1000229
		published = 2020-05-30
		pages = -
		keywords.2 = kb220`},
	{"efetch/metapub_34843274.xml", "34843274", `
		authors# = 1
		authors.0 = Guideline Development Panel for the Treatment of Depressive Disorders
		published = 2022-09
		other_ids.pii = 2022-06921-001`},
	{"efetch/metapub_35649368.xml", "35649368", `
		corrects = -
		other_ids.issn_l = -
		pages = 110870
		published = 2022-05-31
		status = ACTIVE`},
	{"efetch/metapub_36156117.xml", "36156117", `
		doi = 10.1093/cid/ciac769
		other_ids.pii = 6717535
		journal_abbrev = Clin Infect Dis
		updated = 2024-09-23`},
	{"efetch/metapub_36987902.xml", "36987902", `
		language = eng
		authors.0 = Bruserud, Øyvind
		authors.0.orcid = 0000-0001-7093-6988
		abstract.1 ~ MATERIAL AND METHOD: All patients ≥ 75 years admitted
		published = 2023-03-28`},
	{"efetch/metapub_38270460.xml", "38270460", `
		title = The mTORC2 signaling network: targets and cross-talks.
		authors# = 3
		doi = 10.1042/bcj20220325
		type = Review
		updated = 2025-05-14`},
	{"efetch/metapub_38833988.xml", "38833988", `
		corrects = 33279609
		type = Published Erratum
		authors.0 = Pascucci, Franco Andrés
		abstract = -
		pages = 119767
		status = ACTIVE`},
	{"efetch/metapub_38962805.xml", "38962805", `
		title = Correction.
		corrects = 38446048
		authors = -
		issue = sup1`},
	{"efetch/pmid_19129924_nested_references.xml", "19129924", `
		title = PyMOOSE: Interoperable Scripting in Python for MOOSE.
		doi = 10.3389/neuro.11.006.2008
		pmid = 19129924
		pmcid = PMC2614320
		references_count = 11
		published = 2008`}, // in eleven lists
	{"efetch/pmid_22663011_collective_2026.xml", "22663011", `
		authors# = 26
		authors.25 = METRIC Study Group
		abstract.0 ~ BACKGROUND: Activating mutations in serine-threonine protein kinase B-RAF (BRAF) a
		published = 2012-07-12
		updated = 2026-05-18`},
	{"efetch/pmid_30078747.xml", "30078747", `
		authors# = 11
		authors.0 = Kahles, André
		authors.9 = Cancer Genome Atlas Research Network
		authors.10 = Rätsch, Gunnar
		pages = 211-224.e6
		published = 2018-08-13`},
	{"efetch/pmid_31393839_medlinedate_no_abstract.xml", "31393839", `
		title = Career-Turning Moments.
		published = 2019
		issn = 0022-3875
		abstract = -
		mesh.1.term = Career Choice
		mesh.1.major = true`},
	{"efetch/pmid_31482638_in_process.xml", "31482638", `
		abstract# = 6
		abstract.0 ~ Long noncoding RNAs (lncRNAs) are RNA transcripts over 200 nucleotides
		abstract.2 = DESIGN: Cross sectional study.
		journal_abbrev = Clin. Endocrinol. (Oxf)
		updated = 2020-05-04`},
	{"efetch/pmid_31746150_publisher.xml", "31746150", `
		authors.0 = López, Lázaro
		authors.2.orcid = 0000-0001-9626-4489
		keywords.0 = Lactobacillus reuteri
		volume = -
		pages = e972
		published = 2019-11-19`},
	{"efetch/pmid_38289659.xml", "38289659", `
		doi = 10.7554/elife.88808
		other_ids.pii = 88808
		journal = eLife
		references_count = 124
		keywords# = 10
		pages = -`},
	{"efetch/pmid_9500320.xml", "9500320", `
		title = Ileal-lymphoid-nodular hyperplasia, non-specific colitis, and pervasive developmental disorder in children.
		retracted_by = 20137807
		doi = 10.1016/s0140-6736(97)11096-0
		abstract.2 ~ FINDINGS: Onset of behavioural symptoms was associated
		published = 1998-02-28
		status = RETRACTED`},
	{"efetch/two_articles_11748933_11700088.xml", "11700088", `
		title = Proton MRI of (13)C distribution by J and chemical shift editing.
		authors.0.affiliations ~ INFM and Department of Physics, University of L'Aquila
		published = 2001-11
		mesh = -`},
	{"efetch/two_articles_9997_12091962.xml", "12091962", `
		published = 1990
		mesh.1.major = true
		keywords = Health Care and Public Health | Legal Approach`}, // Year and Season
	{"efetch/two_articles_9997_12091962.xml", "9997", `
		published = 1976-09-28
		doi = 10.1016/0005-2795(76)90109-4
		authors.0 = Strekas, T C`},
	{"updatefiles/pubmedsample_2019.xml.gz", "10188493", `
		issn = 1354-5760
		published = 1998`}, // 1998 Dec-1999 Jan
	{"updatefiles/pubmedsample_2019.xml.gz", "11243089", `
		published = 1999`}, // 1999 Jan-Mar
	{"updatefiles/pubmedsample_2019.xml.gz", "21007460", `
		issn = -
		published = 1944`}, // 1944-1945
	{"updatefiles/pubmedsample_2019.xml.gz", "18941263", `
		issn = 1833-3575 | 1833-3583
		published = 2008`},
	{"updatefiles/pubmed21n1005_part.xml.gz", "31541001", `
		references_count = 111`},
}

var crossrefRecords = []recording{
	{"work/alias_doi_target.json", "10.26434/chemrxiv.5406907.v5", `
		title = Binding Modes of Ligands Using Enhanced Sampling (BLUES): Rapid Decorrelation of Ligand Binding Modes Using Nonequilibrium Candidate Monte Carlo
		authors# = 8
		authors.0 = Gill, Samuel
		authors.0.affiliations = -
		type = posted-content
		journal = -
		licence = https://creativecommons.org/licenses/by/4.0/
		published = 2018-02-23
		updated = 2026-01-22T11:28:17Z`},
	{"work/aps_article_number.json", "10.1103/physreva.106.022212", `
		pages = 022212
		journal_abbrev = Phys. Rev. A
		issn = 2469-9926 | 2469-9934
		authors.1.orcid = 0000-0002-2515-3842
		references_count = 56
		language = en
		updated = 2025-05-14T00:11:45Z`},
	{"work/bare_10.1101_2022.09.28.22280453.json", "10.1101/2022.09.28.22280453", `
		authors# = 21
		authors.0.orcid = 0000-0001-7063-7769
		abstract ~ Abstract
		abstract.1 ~ Background: The advent of functional genomic techniques
		abstract.2 ~ Methods: In this study, we integrate detailed genome-wide maps
		references_count = 62
		published = 2022-09-29`},
	{"work/bare_10.3030_101067344.json", "10.3030/101067344", `
		title = Dynamics of p53 mutant reactivation and the anti-carcinogenic action of engineered resveratrol analogues
		type = grant
		published = 2022-09-01
		publisher = Publications Office of the European Union
		authors = -`},
	{"work/bare_10.7554_eLife.87468.2.json", "10.7554/elife.87468.2", `
		authors# = 9
		authors.0 = Weng, Zhuangfeng
		authors.0.affiliations ~ Shenzhen Key Laboratory for Systems Medicine in Inflammatory Diseases
		abstract ~ MCM8 and MCM9 form a functional helicase complex (MCM8/9) that plays
		references_count = 0`},
	{"work/book-chapter_2026.json", "10.1007/978-3-662-46370-3_13", `
		journal = Shoulder Stiffness
		pages = 155-158
		other_ids.isbn = 9783662463697
		issn = -
		published = 2015
		type = book-chapter`},
	{"work/book_multiple_isbn.json", "10.1007/978-3-0348-8720-5_13", `
		authors.0 = Bouchut, François
		other_ids.isbn = 9783034897426
		published = 1999
		publisher = Birkhäuser Basel`},
	{"work/component_2026.json", "10.1371/journal.pmed.0030277.g001", `
		title = -
		type = component
		published = 2015-10-20
		authors = -`}, // issued is [[null]]
	{"work/dataset_usda_2023.json", "10.2737/rds-2018-0001", `
		title = Fledging times of grassland birds
		authors# = 4
		authors.0.affiliations = U.S. Geological Survey
		published = 2017-08-09
		type = dataset`},
	{"work/dissertation_2026.json", "10.14264/uql.2020.791", `
		authors.0 = Collingwood, Patricia Maree
		authors.0.orcid = 0000-0003-3086-4443
		publisher = University of Queensland Library
		type = dissertation`},
	{"work/journal-article_abstract_2019.json", "10.32396/usurj.v1i1.55", `
		abstract ~ In the international community, human dependence on plastic is increasing.
		published = 2014-02-27
		pages = -
		updated = 2019-02-18T19:55:32Z`},
	{"work/journal-article_affiliation_space_2023.json", "10.1177/0042098011428175", `
		authors.0 = Petrovici, Norbert
		authors.0.affiliations = -
		keywords.0 = Urban Studies
		published = 2011-12-22
		other_ids.alternative = 10.1177/0042098011428175`},
	{"work/journal-article_future_date_2015.json", "10.1016/j.ejphar.2015.03.018", `
		published = 2015-07
		volume = 759
		issue = -
		pages = 303-312
		journal_abbrev = -`},
	{"work/journal-article_has-preprint_2022.json", "10.3389/fgene.2017.00147", `
		authors.0 = Pánek, Josef
		journal_abbrev = Front. Genet.
		keywords = Genetics (clinical) | Genetics | Molecular Medicine`},
	{"work/journal-article_has-review_2026.json", "10.1016/j.neurobiolaging.2010.03.024", `
		authors# = 11
		published = 2012-03
		issue = 3
		other_ids.alternative = S0197458010001570
		retracted_by = -`},
	{"work/journal-article_jalc_2023.json", "10.1241/johokanri.39.979", `
		title = Utilizing the Internet. 12 Series. Future of the Internet.
		authors.0 = KUSUMOTO, Hiroyuki
		published = 1997
		issn = 0021-7298 | 1347-1597`},
	{"work/journal-article_japanese_original_title_2023.json", "10.7600/jspfsm.56.60", `
		title = 自律神経・循環器応答
		journal_abbrev = Tairyoku Kagaku
		authors = -
		pages = 60-60`}, // title is [""]
	{"work/journal-article_jmir_2023.json", "10.2196/22081", `
		title = Investigating Patients’ Intention to Continue Using Teleconsultation to Anticipate Postcrisis Momentum: Survey Study
		authors.0 = Grenier Ouimet, Antoine
		abstract.0 ~ Background: The COVID-19 crisis has drastically changed care delivery with teleconsultation
		pages = e22081`},
	{"work/journal-article_literal_author_has-preprint_2023.json", "10.1038/ng.3834", `
		authors# = 14
		authors.0 = Chiang, Colby
		authors.1 = GTEx Consortium
		authors.1.family = -
		published = 2017-04-03
		licence = http://www.springer.com/tdm`},
	{"work/journal-article_markup_title_2023.json", "10.1098/rspb.2017.0132", `
		title = Sexual conflict and correlated evolution between male persistence and female resistance traits in the seed beetle Callosobruchus maculatus
		authors.1 = van Lieshout, Emile
		abstract ~ Traumatic mating (or copulatory wounding) is an extreme form of sexual conflict
		pages = 20170132`},
	{"work/journal-article_multiple_titles_2023.json", "10.4000/dms.865", `
		title = Distance(s), proximity and presence(s): evolving concepts
		journal = Distances et médiations des savoirs
		issue = 8`},
	{"work/journal-article_new_version_self_2026.json", "10.1371/journal.ppat.1008184", `
		retracts = -
		corrects = -
		retracted_by = -
		pages = e1008184
		status = ACTIVE`}, // update-to and updated-by: new_version of itself
	{"work/journal-article_orcid_abstract_2023.json", "10.3390/publications6020015", `
		authors.0.orcid = 0000-0002-3836-8885
		abstract ~ Gigantic particle accelerators, incredibly complex detectors
		url = http://dx.doi.org/10.3390/publications6020015
		pages = 15`},
	{"work/journal-article_sici_doi_2023.json", "10.1890/0012-9658(2006)87[2832:tiopma]2.0.co;2", `
		doi = 10.1890/0012-9658(2006)87[2832:tiopma]2.0.co;2
		authors.1 = Rands, S. A.
		published = 2006-11`},
	{"work/journal-article_updated-by_correction_2026.json", "10.1371/journal.pone.0033693", `
		authors# = 6
		corrects = -
		retracted_by = -
		published = 2012-03-21
		status = ACTIVE`}, // was corrected: no retraction
	{"work/journal-issue_2023.json", "10.6002/ect.2015.0371", `
		title = -
		journal = Experimental and Clinical Transplantation
		published = 2018-10
		type = journal-issue`},
	{"work/monograph_2023.json", "10.2973/odp.proc.ir.180.2000", `
		title = Proceedings of the Ocean Drilling Program, 180 Initial Reports
		published = 2000-02-04
		type = monograph`},
	{"work/peer-review_2026.json", "10.7554/elife.55167.sa2", `
		title = Author response: SpikeForest, reproducible web-facing ground-truth validation of automated neural spike sorters
		authors.0.affiliations = Center for Computational Mathematics, Flatiron Institute
		type = peer-review`},
	{"work/posted-content_biorxiv_2026.json", "10.1101/2020.12.01.406702", `
		title = Identification of a novel cationic glycolipid in Streptococcus agalactiae that contributes to brain entry and meningitis
		publisher = openRxiv
		published = 2020-12-01
		authors.1 = Manzer, Haider S.`},
	{"work/posted-content_blog_2026.json", "10.54900/rckn8ey-1fm76va-qsrnf", `
		abstract ~ Today we are announcing Upstream. And if you're reading this,
		published = 2021-11-22
		authors# = 4`},
	{"work/posted-content_copernicus_2023.json", "10.5194/cp-2020-95", `
		title = The Atmospheric Bridge Communicated the δ13C Decline during the Last Deglaciation to the Global Upper Ocean
		authors# = 6`}, // entities escaped twice
	{"work/proceedings-article_2026.json", "10.1109/icdcsw.2003.1203662", `
		journal = 23rd International Conference on Distributed Computing Systems Workshops, 2003. Proceedings.
		pages = 877-882
		published = 2004-06-22`},
	{"work/report_2023.json", "10.2172/972169", `
		published = 2010-01-01
		publisher = Office of Scientific and Technical Information (OSTI)
		abstract = -`},
	{"works-lists/prefix_editor_query_updates_2026.json", "10.1371/journal.pbio.0050002", `
		title ~ Impaired Genome Maintenance Suppresses the Growth Hormone–Insulin-Like Growth Factor 1 Axis in Mic
		authors# = 17
		published = 2006-12-12
		status = ACTIVE`},
	{"works-lists/sample10_2026-06.json", "10.1246/bcsj.36.278", `
		title = The Cationic Copolymerization of Styrene and p-Brornostyrene in Liquid Sulfur Dioxide
		published = 1963-03-01`},
	{"works-lists/sample10_2026-06.json", "10.1007/978-3-531-91346-9_6", `
		title = Die Straße als politische Arena und Medium der Masse
		updated = 2024-09-05T08:20:50Z`},
	{"works-lists/works_api_2019.json", "10.1109/infvis.2005.1532150", `
		title = Flow map layout
		authors# = 5
		type = proceedings-article`},
	{"works-lists/from_until_index_date_2023.json", "10.3403/00374960", `
		title = Specification for housings for hydraulic seals for reciprocating applications
		type = standard
		updated = 2023-02-06T14:55:03Z`},
	{"works-lists/select_doi_title_2026.json", "*", `
		problem = bad_date`}, // select left indexed out: nothing to order versions by
	{"reconstructed/updated-by_retraction_fragment.json", "10.1016/s0140-6736(97)11096-0", `
		title = RETRACTED: Ileal-lymphoid-nodular hyperplasia, non-specific colitis
		retracted_by = 10.1016/s0140-6736(10)60175-4
		published = 1998-02
		problem = bad_date
		status = RETRACTED`},
	{"reconstructed/update-to_retraction_self_fragment.json", "10.1016/j.micpro.2020.103768", `
		retracts = 10.1016/j.micpro.2020.103768
		problem = bad_date
		status = RETRACTED`}, // the notice took the work's place
}

func checkRecord(t *testing.T, it harvest.Item, day bool, want string) {
	t.Helper()
	var fields any
	if it.Fields != nil { // the first of two phases has none
		if err := json.Unmarshal(it.Fields, &fields); err != nil {
			t.Fatalf("fields: %v", err)
		}
	}
	problem := "-"
	if it.Problem != nil {
		problem = string(it.Problem.Code)
	}
	if !strings.Contains(want, "problem =") && problem != "-" {
		t.Errorf("problem %+v", it.Problem)
	}
	for line := range strings.Lines(strings.TrimSpace(want)) {
		line = strings.TrimSpace(line)
		key, value, exact := strings.Cut(line, " = ")
		if !exact {
			var ok bool
			key, value, ok = strings.Cut(line, " ~ ")
			if !ok {
				t.Fatalf("not an expectation: %q", line)
			}
		}
		var got string
		switch key {
		case "status":
			got = string(it.Status)
		case "version":
			got = fmt.Sprint(it.Version)
		case "problem":
			got = problem
		case "updated":
			got = it.UpdatedAt.Format("2006-01-02T15:04:05Z07:00")
			if day {
				got = it.UpdatedAt.In(newYork).Format("2006-01-02")
			}
		default:
			got = field(fields, key)
		}
		if exact && got != value || !exact && !strings.HasPrefix(got, value) {
			t.Errorf("%s\n got %s\nwant %s", key, got, value)
		}
	}
}

// field finds a value by its dotted name.
func field(v any, name string) string {
	name, count := strings.CutSuffix(name, "#")
	for part := range strings.SplitSeq(name, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			v = at(x, part)
		case string: // a text by lines
			lines := strings.Split(x, "\n")
			list := make([]any, len(lines))
			for i := range lines {
				list[i] = lines[i]
			}
			v = at(list, part)
		default:
			return "-"
		}
	}
	if count {
		switch x := v.(type) {
		case []any:
			return fmt.Sprint(len(x))
		case string:
			return fmt.Sprint(strings.Count(x, "\n") + 1)
		}
		return "0"
	}
	return show(v)
}

func at(list []any, index string) any {
	var i int
	if _, err := fmt.Sscan(index, &i); err != nil || i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

func show(v any) string {
	switch x := v.(type) {
	case nil:
		return "-"
	case []any:
		parts := make([]string, len(x))
		for i := range x {
			parts[i] = show(x[i])
		}
		return strings.Join(parts, " | ")
	case map[string]any:
		if name, ok := x["name"]; ok {
			return fmt.Sprint(name)
		}
		return fmt.Sprintf("%v, %v", x["family"], x["given"])
	}
	return fmt.Sprint(v)
}
