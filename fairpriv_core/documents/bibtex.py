"""What to cite, as BibTeX: the works that the citation of a method, a paper or a data set names, and this software."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata


@dataclass(frozen=True)
class Work:
    """A work as BibTeX knows it: its key, authors, title and year, and where it stands.

    `venue`: a conference, or "arXiv:", "doi:" or "url:" and what follows.
    """

    key: str
    authors: str
    title: str
    year: int
    venue: str

    @property
    def names(self) -> tuple[str, ...]:
        """The forms in which a citation here names its authors; () where they are anonymous."""
        surnames = [author.partition(",")[0] for author in self.authors.split(" and ")]
        if len(surnames) == 1:
            return ()
        return f"{', '.join(surnames[:-1])} and {surnames[-1]}", f"{surnames[0]} et al."

    def is_named_in(self, citation: str) -> bool:
        """Return whether a citation has its title, or its authors and its year."""
        named = any(names in citation.replace(" & ", " and ") for names in self.names) and str(self.year) in citation
        return named or self.title.casefold() in citation.casefold()

    def write(self) -> str:
        """Return it as one BibTeX entry."""
        archive, _, number = self.venue.partition(":")
        place = {archive: number} if number else {"booktitle": self.venue}
        if archive == "arXiv":
            place = {"eprint": number, "archiveprefix": archive}
        kind = "misc" if number else "inproceedings"
        return _write_entry(kind, self.key, author=self.authors, title=self.title, year=str(self.year), **place)


_WORKS = (
    Work(
        "tran2021pfld",
        "Tran, Cuong and Fioretto, Ferdinando and Van Hentenryck, Pascal",
        "Differentially Private and Fair Deep Learning: A Lagrangian Dual Approach",
        2021,
        "Proceedings of the AAAI Conference on Artificial Intelligence",
    ),
    Work(
        "lowy2023fermi",
        "Lowy, Andrew and Gupta, Devansh and Razaviyayn, Meisam",
        "Stochastic Differentially Private and Fair Learning",
        2023,
        "International Conference on Learning Representations",
    ),
    Work(
        "fairdp2021",
        "{Anonymous authors}",
        "Fair Differential Privacy Can Mitigate the Disparate Impact on Model Accuracy",
        2021,
        "Under review at the International Conference on Learning Representations",
    ),
    Work(
        "tran2024fairdp",
        "Tran, Khang and Fioretto, Ferdinando and others",
        "FairDP: Achieving Fairness Certification with Differential Privacy",
        2024,
        "arXiv:2305.16474",
    ),
    Work(
        "abadi2016dpsgd",
        "Abadi, Martín and Chu, Andy and Goodfellow, Ian and McMahan, H. Brendan and Mironov, Ilya and Talwar, Kunal "
        "and Zhang, Li",
        "Deep Learning with Differential Privacy",
        2016,
        "ACM SIGSAC Conference on Computer and Communications Security",
    ),
    Work(
        "tran2022sfpate",
        "Tran, Cuong and Zhu, Keyu and Fioretto, Ferdinando and Van Hentenryck, Pascal",
        "SF-PATE: Scalable, Fair, and Private Aggregation of Teacher Ensembles",
        2022,
        "arXiv:2204.05157",
    ),
    Work(
        "yaghini2023impartiality",
        "Yaghini, Mohammad and Liu, Patty and Boenisch, Franziska and Papernot, Nicolas",
        "Learning with Impartiality to Walk on the Pareto Frontier of Fairness, Privacy, and Utility",
        2023,
        "arXiv:2302.09183",
    ),
    Work(
        "mozannar2020private",
        "Mozannar, Hussein and Ohannessian, Mesrob I. and Srebro, Nathan",
        "Fair Learning with Private Demographic Data",
        2020,
        "International Conference on Machine Learning",
    ),
    Work(
        "kairouz2016discrete",
        "Kairouz, Peter and Bonawitz, Keith and Ramage, Daniel",
        "Discrete Distribution Estimation under Local Privacy",
        2016,
        "International Conference on Machine Learning",
    ),
    Work(
        "jagielski2019fair",
        "Jagielski, Matthew and Kearns, Michael and Mao, Jieming and Oprea, Alina and Roth, Aaron and "
        "Sharifi-Malvajerdi, Saeed and Ullman, Jonathan",
        "Differentially Private Fair Learning",
        2019,
        "International Conference on Machine Learning",
    ),
    Work(
        "mcmahan2018recurrent",
        "McMahan, H. Brendan and Ramage, Daniel and Talwar, Kunal and Zhang, Li",
        "Learning Differentially Private Recurrent Language Models",
        2018,
        "International Conference on Learning Representations",
    ),
    Work(
        "amin2019bounding",
        "Amin, Kareem and Kulesza, Alex and Muñoz Medina, Andrés and Vassilvitskii, Sergei",
        "Bounding User Contributions: A Bias-Variance Trade-off in Differential Privacy",
        2019,
        "International Conference on Machine Learning",
    ),
    Work(
        "xu2021removing",
        "Xu, Depeng and Du, Wei and Wu, Xintao",
        "Removing Disparate Impact on Model Accuracy in Differentially Private Stochastic Gradient Descent",
        2021,
        "ACM SIGKDD Conference on Knowledge Discovery and Data Mining",
    ),
    Work(
        "esipova2023disparate",
        "Esipova, Maria S. and Ashari Ghomi, Atiyeh and Luo, Yaqiao and Cresswell, Jesse C.",
        "Disparate Impact in Differential Privacy from Gradient Misalignment",
        2023,
        "International Conference on Learning Representations",
    ),
    Work(
        "kulynych2022what",
        "Kulynych, Bogdan and Yang, Yao-Yuan and Yu, Yaodong and Błasiok, Jarosław and Nakkiran, Preetum",
        "What You See is What You Get: Principled Deep Learning via Distributional Generalization",
        2022,
        "Advances in Neural Information Processing Systems",
    ),
    Work(
        "tran2021fairlens",
        "Tran, Cuong and Dinh, My and Fioretto, Ferdinando",
        "Differentially Private Empirical Risk Minimization under the Fairness Lens",
        2021,
        "Advances in Neural Information Processing Systems",
    ),
    Work(
        "jin2022smoothing",
        "Jin, Jiayin and Zhang, Zeru and Zhou, Yang and Wu, Lingfei",
        "Input-agnostic Certified Group Fairness via Gaussian Parameter Smoothing",
        2022,
        "International Conference on Machine Learning",
    ),
    Work(
        "yaghini2026raco",
        "Yaghini, Mohammad and Cebere, Tudor and Menart, Michael and Bellet, Aurélien and Papernot, Nicolas",
        "Private Rate-Constrained Optimization with Applications to Fair Learning",
        2026,
        "International Conference on Learning Representations",
    ),
    Work(
        "agarwal2018reductions",
        "Agarwal, Alekh and Beygelzimer, Alina and Dudík, Miroslav and Langford, John and Wallach, Hanna",
        "A Reductions Approach to Fair Classification",
        2018,
        "International Conference on Machine Learning",
    ),
    Work(
        "zafar2017constraints",
        "Zafar, Muhammad Bilal and Valera, Isabel and Gomez Rodriguez, Manuel and Gummadi, Krishna P.",
        "Fairness Constraints: Mechanisms for Fair Classification",
        2017,
        "International Conference on Artificial Intelligence and Statistics",
    ),
    Work(
        "zafar2017beyond",
        "Zafar, Muhammad Bilal and Valera, Isabel and Gomez Rodriguez, Manuel and Gummadi, Krishna P.",
        "Fairness Beyond Disparate Treatment and Disparate Impact: Learning Classification without Disparate "
        "Mistreatment",
        2017,
        "International Conference on World Wide Web",
    ),
    Work(
        "balle2018improving",
        "Balle, Borja and Wang, Yu-Xiang",
        "Improving the Gaussian Mechanism for Differential Privacy: Analytical Calibration and Optimal Denoising",
        2018,
        "International Conference on Machine Learning",
    ),
    Work(
        "xu2019pflr",
        "Xu, Depeng and Yuan, Shuhan and Wu, Xintao",
        "Achieving Differential Privacy and Fairness in Logistic Regression",
        2019,
        "Companion Proceedings of the World Wide Web Conference",
    ),
    Work(
        "ding2020adfc",
        "Ding, Jiahao and Zhang, Xinyue and Li, Xiaohuan and Wang, Junyi and Yu, Rong and Pan, Miao",
        "Differentially Private and Fair Classification via Calibrated Functional Mechanism",
        2020,
        "Proceedings of the AAAI Conference on Artificial Intelligence",
    ),
    Work(
        "say2025fairness",
        "Say, Lilian and Denis, Christophe and Pinot, Rafael",
        "Fairness Meets Privacy: Integrating Differential Privacy and Demographic Parity in Multi-class Classification",
        2025,
        "arXiv:2511.18876",
    ),
    Work(
        "fichtenberger2023constant",
        "Fichtenberger, Hendrik and Henzinger, Monika and Upadhyay, Jalaj",
        "Constant Matters: Fine-grained Error Bound on Differentially Private Continual Observation",
        2023,
        "International Conference on Machine Learning",
    ),
    Work(
        "hardt2016equality",
        "Hardt, Moritz and Price, Eric and Srebro, Nathan",
        "Equality of Opportunity in Supervised Learning",
        2016,
        "Advances in Neural Information Processing Systems",
    ),
    Work("becker1996adult", "Becker, Barry and Kohavi, Ronny", "Adult [Dataset]", 1996, "doi:10.24432/C5XW20"),
    Work(
        "moro2014bank",
        "Moro, Sérgio and Rita, Paulo and Cortez, Paulo",
        "Bank Marketing",
        2014,
        "doi:10.24432/C5K306",
    ),
    Work(
        "angwin2016machine",
        "Angwin, Julia and Larson, Jeff and Mattu, Surya and Kirchner, Lauren",
        "Machine Bias",
        2016,
        "url:https://www.propublica.org/article/machine-bias-risk-assessments-in-criminal-sentencing",
    ),
    Work(
        "yeh2009default",
        "Yeh, I-Cheng",
        "Default of Credit Card Clients",
        2009,
        "doi:10.24432/C55S3H",
    ),
    Work(
        "lequy2022survey",
        "Le Quy, Tai and Roy, Arjun and Iosifidis, Vasileios and Zhang, Wenbin and Ntoutsi, Eirini",
        "A Survey on Datasets for Fairness-aware Machine Learning",
        2022,
        "doi:10.1002/widm.1452",
    ),
    Work(
        "tsanas2009parkinsons",
        "Tsanas, Athanasios and Little, Max A.",
        "Parkinsons Telemonitoring",
        2009,
        "doi:10.24432/C5ZS3N",
    ),
    Work(
        "ding2021retiring",
        "Ding, Frances and Hardt, Moritz and Miller, John and Schmidt, Ludwig",
        "Retiring Adult: New Datasets for Fair Machine Learning",
        2021,
        "Advances in Neural Information Processing Systems",
    ),
    Work(
        "lecun1998gradient",
        "LeCun, Yann and Bottou, Léon and Bengio, Yoshua and Haffner, Patrick",
        "Gradient-based Learning Applied to Document Recognition",
        1998,
        "doi:10.1109/5.726791",
    ),
    Work(
        "bagdasaryan2019disparate",
        "Bagdasaryan, Eugene and Poursaeed, Omid and Shmatikov, Vitaly",
        "Differential Privacy Has Disparate Impact on Model Accuracy",
        2019,
        "Advances in Neural Information Processing Systems",
    ),
    Work(
        "zhang2017age",
        "Zhang, Zhifei and Song, Yang and Qi, Hairong",
        "Age Progression/Regression by Conditional Adversarial Autoencoder",
        2017,
        "IEEE Conference on Computer Vision and Pattern Recognition",
    ),
)


def write_bibtex(citations: Iterable[str]) -> str:
    """Return the entries of the works that citations name, each once, and that of this software."""
    texts = list(citations)
    named = [work.write() for work in _WORKS if any(work.is_named_in(citation) for citation in texts)]
    own = _write_entry(
        "misc",
        "fairpriv",
        author="{The fairpriv contributors}",
        title="fairpriv: differentially private and fair classifiers, watched while they train",
        year="2026",
        note=f"Version {metadata.version('fairpriv')}",
    )
    return "\n\n".join([*named, own]) + "\n"


def _write_entry(kind: str, key: str, *, title: str, **fields: str) -> str:
    """Return an entry; its title is braced twice, so that a style keeps its capitals."""
    lines = [f"  {name} = {{{value}}}," for name, value in {"title": f"{{{title}}}", **fields}.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
